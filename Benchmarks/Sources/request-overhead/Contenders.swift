import AsyncHTTPClient
import AsyncHTTPClientTransport
import CurlInC
import Foundation
import NessHTTP
import Synchronization
import Upstream

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The number of concurrent requests.
let width = 64

/// A client that sends GET requests.
struct Contender: Sendable {
    let name: String
    /// The number by which the requests of a round are divided, for a slow client.
    var divisor = 1
    /// Sends one GET, and returns the number of bytes of the body. `nil` for libcurl in C, which has no such function.
    let get: (@Sendable (URL) async throws -> Int)?
    /// Sends a number of GETs to the upstream, of which some are concurrent. Each of these has a different URL.
    let run: @Sendable (_ count: Int, _ parallel: Int) async throws -> Void

    init(_ name: String, divisor: Int = 1, _ urls: [URL], get: @escaping @Sendable (URL) async throws -> Int) {
        (self.name, self.divisor, self.get) = (name, divisor, get)
        run = { count, parallel in
            @Sendable func sequential(_ url: URL) async throws {
                for _ in 0..<count / parallel {
                    guard try await get(url) == Upstream.bodySize else { throw Failed(reason: "\(name): a body had another length") }
                }
            }
            if parallel == 1 { return try await sequential(urls[0]) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for url in urls.prefix(parallel) { group.addTask { try await sequential(url) } }
                try await group.waitForAll()
            }
        }
    }
}

/// Returns all clients. The URLs differ, because Ness would share a response among concurrent callers of the same URL. "Ness, awaited" is
/// the like of the other clients: it awaits the response without a promise, and shares none.
func makeContenders(_ urls: [URL]) throws -> [Contender] {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4_096
    let peer = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let sessionConfiguration = URLSessionConfiguration.ephemeral
    sessionConfiguration.httpMaximumConnectionsPerHost = width
    let session = URLSession(configuration: sessionConfiguration)
    func manager(_ transport: any Transport) -> Ness {
        Ness {
            $0.transport = transport
            $0.maximumConnectionsPerHost = 4_096
            $0.timeout = .seconds(600)
        }
    }
    func ness(_ name: String, divisor: Int = 1, _ transport: any Transport) -> Contender {
        let ness = manager(transport)
        return Contender(name, divisor: divisor, urls) {
            try await ness.httpRequest(.get, withUrl: $0).dataRequest().value.responseData.count
        }
    }
    func awaited(_ transport: any Transport) -> Contender {
        let ness = manager(transport)
        ness.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
        return Contender("Ness, awaited", urls) { try await ness.httpRequest(.get, withUrl: $0).response().body.count }
    }
    let others = [
        Contender("AsyncHTTPClient", urls) {
            let response = try await peer.execute(HTTPClientRequest(url: $0.absoluteString), timeout: .seconds(600))
            return try await response.body.collect(upTo: 1 << 20).readableBytes
        },
        ness("Ness over AsyncHTTPClient", AsyncHTTPClientTransport(peer)),
        Contender("URLSession", divisor: 4, urls) { try await session.data(from: $0).0.count },
    ]
    #if os(Linux)
    guard let transport = try? CurlTransport(), let inC = Contender(inC: urls) else { throw Failed(reason: "there is no libcurl") }
    let bare = Contender("CurlTransport without Ness", urls) { url in
        let length = Mutex(0)
        try await transport.send(HTTPRequest(.get, url: url)) { event in
            if case .body(let data) = event { length.withLock { $0 += data.count } }
        }
        return length.withLock { $0 }
    }
    return [inC, bare, ness("Ness", transport), awaited(transport)] + others + [
        ness("Ness over URLSession", divisor: 4, URLSessionTransport())
    ]
    #else
    return [ness("Ness", divisor: 4, URLSessionTransport())] + others
    #endif
}

#if os(Linux)
extension Contender {
    /// libcurl without Swift: one client for a single request at a time, and one for many.
    fileprivate init?(inC urls: [URL]) {
        let texts = urls.map { strdup($0.absoluteString) }
        defer { for text in texts { free(text) } }
        let pointers = texts.map { UnsafePointer($0) }
        // Contenders take turns, so no two calls use a client at the same time.
        nonisolated(unsafe) let single = curl_in_c_new(pointers, 1, nil, nil)
        nonisolated(unsafe) let many = curl_in_c_new(pointers, Int32(urls.count), nil, nil)
        guard single != nil, many != nil else { return nil }
        name = "libcurl in C"
        get = nil
        run = { count, parallel in
            let good = curl_in_c_run(parallel == 1 ? single : many, count, Upstream.bodySize)
            guard good == count else { throw Failed(reason: "libcurl in C: \(count - good) of \(count) requests failed") }
        }
    }
}
#endif
