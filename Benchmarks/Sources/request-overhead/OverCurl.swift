import CurlInC
import Foundation
import Measure
import NessHTTP
import Synchronization
import Upstream

/// A client that sends GET requests.
private struct Contender {
    let name: String
    /// Sends a number of requests, as many at once as the second argument says. Each of these has a URL of its own.
    let get: @Sendable (_ count: Int, _ parallel: Int) async throws -> Void
}

/// The number of simultaneous requests.
private let width = 64

/// Compares bare libcurl in C, the transport alone, and Ness over it.
func measureCurl(_ url: URL, late: URL) async throws {
    #if os(Linux)
    // Different URLs, because Ness would share the response among callers of the same one.
    let urls = (0..<width).compactMap { URL(string: "\(url.absoluteString)?n=\($0)") }
    guard let transport = CurlTransport(), let inC = CurlClient(urls) else { throw Failed(reason: "there is no libcurl") }
    let ness = Ness { $0.maximumConnectionsPerHost = width }
    let contenders = [
        Contender(name: "libcurl in C") { count, parallel in try inC.get(count, parallel) },
        Contender(name: "CurlTransport") { count, parallel in
            try await divide(count, among: parallel) { index, count in
                let request = HTTPRequest(.get, url: urls[index])
                for _ in 0..<count { try await get(request, over: transport) }
            }
        },
        Contender(name: "Ness") { count, parallel in
            try await divide(count, among: parallel) { index, count in try await sequential(count, over: ness, urls[index]) }
        },
    ]
    let (one, many) = (2_000, 12_800)
    let alone = try await medianCosts(rounds: 7, contenders.map { contender in { try await contender.get(one, 1) } })
    let together = try await medianCosts(rounds: 7, contenders.map { contender in { try await contender.get(many, width) } })
    for (index, contender) in contenders.enumerated() {
        let (first, second) = (alone[index], together[index])
        print(
            "\(contender.name): sequential \(micro(first.seconds, one)) µs, CPU \(micro(first.processorSeconds, one)) µs;",
            "\(width) at once \(Int(Double(many) / second.seconds)) a second, CPU \(micro(second.processorSeconds, many)) µs each")
    }
    let slower = [1, 2].map { alone[$0].seconds / alone[0].seconds }
    let speed = [1, 2].map { together[0].seconds / together[$0].seconds }
    let work = [1, 2].map { together[$0].processorSeconds / together[0].processorSeconds }
    print("CurlTransport, sequential, times libcurl in C: \(verdict(slower[0], atMost: 1.2))")
    print("CurlTransport, \(width) at once, requests a second against libcurl in C: \(verdict(speed[0], atLeast: 0.75))")
    print("Ness, sequential, times libcurl in C: \(verdict(slower[1], atMost: 1.35))")
    print("Ness, \(width) at once, requests a second against libcurl in C: \(verdict(speed[1], atLeast: 0.7))")
    print("CPU a request at \(width) at once, times libcurl in C: CurlTransport \(decimal(work[0])), Ness \(decimal(work[1]))")
    try await measureWaiting(late, .curl)
    #else
    throw Failed(reason: "CurlTransport is for Linux")
    #endif
}

#if os(Linux)
/// libcurl without Swift: one client for a single request at a time, and one for many.
private final class CurlClient: Sendable {
    // One contender runs at a time, and no client is used by two calls at once.
    nonisolated(unsafe) private let single: OpaquePointer
    nonisolated(unsafe) private let parallel: OpaquePointer

    init?(_ urls: [URL]) {
        let texts = urls.map { strdup($0.absoluteString) }
        defer { for text in texts { free(text) } }
        let pointers = texts.map { UnsafePointer($0) }
        guard let single = curl_in_c_new(pointers, 1), let parallel = curl_in_c_new(pointers, Int32(urls.count)) else { return nil }
        (self.single, self.parallel) = (single, parallel)
    }

    deinit {
        curl_in_c_free(single)
        curl_in_c_free(parallel)
    }

    func get(_ count: Int, _ width: Int) throws {
        let good = curl_in_c_run(width == 1 ? single : parallel, count, Upstream.bodySize)
        guard good == count else { throw Failed(reason: "libcurl in C: \(count - good) of \(count) requests failed") }
    }
}

/// Sends a request over a transport, and collects its body.
private func get(_ request: HTTPRequest, over transport: CurlTransport) async throws {
    let body = Body()
    try await transport.send(request) { event in
        if case .body(let data) = event { body.data.withLock { $0.append(data) } }
    }
    try expect(body.data.withLock(\.count))
}

/// The body of a response.
private final class Body: Sendable {
    let data = Mutex(Data())
}
#endif

/// Divides requests among tasks that run at once. A single task runs in the caller.
private func divide(
    _ count: Int, among parallel: Int, _ body: @escaping @Sendable (_ index: Int, _ count: Int) async throws -> Void
) async throws {
    if parallel == 1 { return try await body(0, count) }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<parallel { group.addTask { try await body(index, count / parallel) } }
        try await group.waitForAll()
    }
}
