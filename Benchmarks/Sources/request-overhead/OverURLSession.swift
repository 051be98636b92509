import Foundation
import Measure
import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The least code that a program without a library needs: a delegate that collects bodies, and a continuation for each task.
final class Bare: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // The lock guards `bodies` and `continuations`, which are kept by the numbers of their tasks.
    private let lock = NSLock()
    private var bodies: [Int: Data] = [:]
    private var continuations: [Int: CheckedContinuation<Data, any Error>] = [:]

    func get(_ url: URL, _ session: URLSession) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            let task = session.dataTask(with: URLRequest(url: url))
            lock.withLock { continuations[task.taskIdentifier] = continuation }
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { bodies[dataTask.taskIdentifier, default: Data()].append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (continuation, data) = lock.withLock {
            (continuations.removeValue(forKey: task.taskIdentifier), bodies.removeValue(forKey: task.taskIdentifier))
        }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume(returning: data ?? Data()) }
    }
}

/// The small response of the server.
private struct Answer: Decodable, Sendable {
    let text: String
}

/// Compares Ness over URLSession with bare delegate data tasks, and measures the cost of a connection of its own for a POST.
func measureURLSession(_ url: URL, late: URL, secure: URL) async throws {
    let bare = Bare()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = width
    let session = URLSession(configuration: configuration, delegate: bare, delegateQueue: queue)
    let ness = Ness {
        $0.transport = URLSessionTransport()
        $0.maximumConnectionsPerHost = width
    }
    let urls = (0..<width).compactMap { URL(string: "\(url.absoluteString)?n=\($0)") }
    @Sendable func getBare(_ index: Int, _ count: Int) async throws {
        for _ in 0..<count {
            let data = try await bare.get(urls[index], session)
            try expect(data.count)
        }
    }
    let (one, many) = (500, 3_200)
    let costs = try await Rounds.measure(
        rounds(15),
        [
            ("bare", { try await getBare(0, one) }),
            ("Ness", { try await sequential(one, over: ness, url) }),
            (
                "decoding",
                {
                    for _ in 0..<one { _ = try await ness.httpRequest(.get, withUrl: url).dataRequest(decoding: Answer.self).value }
                }
            ),
        ])
    let together = try await Rounds.measure(
        rounds(7),
        [
            ("bare", { try await divide(many, among: width, getBare) }),
            ("Ness", { try await divide(many, among: width) { index, count in try await sequential(count, over: ness, urls[index]) } }),
        ])
    for name in ["bare", "Ness", "decoding"] {
        print(
            "\(name): \(decimal(median(costs.micros(name, per: one)))) µs a request,",
            "\(decimal(median(costs.micros(name, per: one, of: \.processorSeconds)))) µs of CPU")
    }
    let reason = Reason.overURLSession
    let times = costs.ratios("Ness", to: "bare")
    try Row("Ness over URLSession, sequential, times bare delegate tasks", times, .atMost(1.04), missedBecause: reason).report()
    let decoding = costs.ratios("decoding", to: "bare")
    let decoded = "Ness over URLSession, sequential, with a decoded result, times bare delegate tasks"
    try Row(decoded, decoding, .atMost(1.08), missedBecause: reason).report()
    let speeds = together.ratios("bare", to: "Ness")
    try Row(
        "Ness over URLSession, \(width) at once, requests a second against bare delegate tasks", speeds, .atLeast(0.97),
        missedBecause: reason
    )
    .report()

    let new = try await Cost.measure {
        let session = URLSession(configuration: .ephemeral, delegate: bare, delegateQueue: queue)
        _ = try await bare.get(late, session)
        session.finishTasksAndInvalidate()
    }
    print("waiting a second on a new connection, bare URLSession: \(decimal(new.load)) % of a core")
    try await measureWaiting(late, .urlsession)

    /// Returns the processor time of one request, in milliseconds: the median of 30. The server's certificate is not trusted, so a request
    /// over https ends with the handshake, whose cost is measured here.
    func milliseconds(_ method: HTTPMethod, _ url: URL) async throws -> String {
        var all: [Double] = []
        for _ in 0..<30 {
            let request = ness.httpRequest(method, withUrl: url)
            all.append(try await Cost.measure { _ = await Promise.allSettled([request.dataRequest()]) }.processorSeconds)
        }
        return decimal(median(all) * 1_000)
    }
    print(
        "work: GET \(try await milliseconds(.get, url)) ms, POST over http \(try await milliseconds(.post, url)) ms,",
        "the handshake of a GET over https \(try await milliseconds(.get, secure)) ms,",
        "of a POST \(try await milliseconds(.post, secure)) ms")
}
