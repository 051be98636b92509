import AsyncHTTPClient
import AsyncHTTPClientTransport
import Foundation
import Hummingbird
import Logging
import NessHTTP
import Synchronization
import Upstream

/// The client of a gateway.
enum Client: String, CaseIterable {
    case asyncHTTPClient = "async-http-client"
    case ness
    case nessOverAsyncHTTPClient = "ness-over-async-http-client"

    /// The client's name for people.
    var name: String {
        switch self {
        case .asyncHTTPClient: "AsyncHTTPClient"
        case .ness: "Ness"
        case .nessOverAsyncHTTPClient: "Ness over AsyncHTTPClient"
        }
    }
}

/// The number of connections to the upstream.
private let width = 64

/// Serves at a port that the system picks, and prints the URL. Does not return.
func serve(_ client: Client, _ engine: Engine, upstream: String) async throws {
    let ask = try makeAsk(client, engine)
    let count = Atomic(0)
    let router = Router()
    router.get("/") { _, _ -> Response in
        // Different URLs, because Ness would share one response among requests for the same URL.
        let number = count.add(1, ordering: .relaxed).newValue
        let (status, body) = try await ask("\(upstream)?n=\(number)")
        return Response(status: .init(code: status), body: ResponseBody(byteBuffer: body))
    }
    router.get("/cpu") { _, _ -> String in "\(Double(clock()) / Double(CLOCKS_PER_SEC))" }
    var logger = Logger(label: "gateway")
    logger.logLevel = .error
    let application = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in
            let port = channel.localAddress?.port ?? 0
            // The call returns at the end of the parent process, with this one.
            Thread.detachNewThread { ServerProcess.announce("http://127.0.0.1:\(port)") }
        },
        logger: logger)
    try await application.runService()
}

/// Returns a function that asks the upstream.
private func makeAsk(_ client: Client, _ engine: Engine) throws -> @Sendable (String) async throws -> (status: Int, body: ByteBuffer) {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = width
    let asyncClient = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    switch client {
    case .asyncHTTPClient:
        return { url in
            let response = try await asyncClient.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
            return (Int(response.status.code), try await response.body.collect(upTo: 1 << 20))
        }
    case .ness, .nessOverAsyncHTTPClient:
        let transport: any Transport = client == .ness ? engine.makeTransport() : AsyncHTTPClientTransport(asyncClient)
        let ness = Ness {
            $0.transport = transport
            $0.maximumConnectionsPerHost = width
        }
        return { url in
            let result = try await ness.httpRequest(.get, withUrl: url).dataRequest().value
            return (result.message.statusCode, ByteBuffer(bytes: result.responseData))
        }
    }
}
