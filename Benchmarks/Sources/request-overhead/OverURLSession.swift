import Foundation
import Measure
import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The least code that a program without a library needs: a delegate that collects the body, and a continuation.
final class Bare: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // The lock guards both variables below.
    private let lock = NSLock()
    private var data = Data()
    private var continuation: CheckedContinuation<Data, any Error>?

    func get(_ url: URL, _ session: URLSession) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            lock.withLock { (self.continuation, data) = (continuation, Data()) }
            session.dataTask(with: URLRequest(url: url)).resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { self.data.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (continuation, data) = lock.withLock { (self.continuation, self.data) }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume(returning: data) }
    }
}

/// Compares Ness over URLSession with a bare delegate data task, and measures the cost of a connection of its own for a POST.
func measureURLSession(_ url: URL, late: URL, secure: URL) async throws {
    let bare = Bare()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = URLSession(configuration: .ephemeral, delegate: bare, delegateQueue: queue)
    let ness = Ness { $0.transport = URLSessionTransport() }
    let count = 500
    let costs = try await medianCosts(
        rounds: 15,
        [
            {
                for _ in 0..<count {
                    let data = try await bare.get(url, session)
                    try expect(data.count)
                }
            },
            { try await sequential(count, over: ness, url) },
        ])
    for (name, cost) in zip(["bare URLSession", "Ness"], costs) {
        print("\(name): \(micro(cost.seconds, count)) µs a request, \(micro(cost.processorSeconds, count)) µs of CPU")
    }
    print("overhead: \(decimal(costs[1].seconds / costs[0].seconds)) times the bare session")

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
