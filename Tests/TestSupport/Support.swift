import Dispatch
import Foundation
import NessHTTP
import NessLock
import NessTesting
import Testing

/// Starts a server and a manager with its base URL. Stops the server in every case.
package func withServer(
    _ handler: @escaping TestServer.Handler = { _ in .text("ok") }, configure: (inout Ness.Configuration) -> Void = { _ in },
    _ body: (TestServer, Ness) async throws -> Void
) async throws {
    let server = try await TestServer.start(handler)
    let ness = Ness { configuration in
        configuration.baseURL = server.url
        configure(&configuration)
    }
    try await stopping(server) { try await body($0, ness) }
}

/// A URL where nothing listens: port 1. No test's server ever gets this port, but it may get the port of a stopped server.
package func refusingURL() async throws -> URL { try #require(URL(string: "http://127.0.0.1:1")) }

/// Returns a URL from a literal. The test fails if the literal is invalid.
package func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

package struct Rejected: Error, Equatable {
    package var name: String

    package init(name: String = "rejected") { self.name = name }
}

package struct User: Codable, Sendable, Equatable {
    package var id: Int
    package var name: String

    package init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

extension RequestStatus {
    /// The status as text, for comparison.
    package var text: String {
        switch self {
        case .idle: "idle"
        case .running(let fraction): "running \(fraction)"
        case .dropped: "dropped"
        case .completed(let response): "completed \(response.statusCode)"
        case .error: "error"
        }
    }
}

/// Opens gates at given numbers of body bytes, and signals every event that a request has seen.
package struct ReceiveGates: RequestObserver {
    package var gates: [Int64: TestGate] = [:]
    package let changed = ChangeSignal()

    package init(gates: [Int64: TestGate] = [:]) { self.gates = gates }

    /// Watches the requests of a manager, over the transport that the configuration has now.
    package func install(in configuration: inout Ness.Configuration) {
        configuration.transport = Watch(wrapped: configuration.transport, gates: self)
        configuration.observers.append(self)
    }

    package func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) { changed.notify() }
    package func requestDidReceiveHead(_ head: HTTPResponse, in exchange: RequestExchange, of request: HTTPRequest) { changed.notify() }

    private struct Watch: ControlledTransport {
        let wrapped: any Transport
        let gates: ReceiveGates

        var isStoppable: Bool { (wrapped as? any ControlledTransport)?.isStoppable == true }
        var limitsConnecting: Bool { wrapped.controlled.limitsConnecting }
        var keepsContentCoding: Bool { wrapped.keepsContentCoding }
        var reportsInterimResponses: Bool { wrapped.reportsInterimResponses }
        var tlsCapabilities: TLSCapabilities { wrapped.tlsCapabilities }

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            try await send(request, under: nil, receive: receive)
        }

        func send(
            _ request: HTTPRequest, under control: (any ExchangeControl)?,
            receive: @escaping @Sendable (TransportEvent) async throws -> Void
        ) async throws {
            let count = Lock<Int64>(0)
            gates.changed.notify()
            try await wrapped.controlled.send(request, under: control) { event in
                try await receive(event)
                if case .body(let data) = event {
                    let total = count.withLock { count in
                        count += Int64(data.count)
                        return count
                    }
                    gates.gates[total]?.open()
                }
                gates.changed.notify()
            }
        }

        func shutdown() async { await wrapped.shutdown() }
    }
}

/// A transport that runs a closure for each request.
package struct FakeTransport: Transport {
    package let body: @Sendable (HTTPRequest, (TransportEvent) async throws -> Void) async throws -> Void
    package init(_ body: @escaping @Sendable (HTTPRequest, (TransportEvent) async throws -> Void) async throws -> Void) { self.body = body }
    package func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await body(request, receive)
    }
}

/// Asserts that a text appears nowhere in what a value shows.
package func expectHidden(_ secret: String, in value: Any, sourceLocation: SourceLocation = #_sourceLocation) {
    var dumped = ""
    dump(value, to: &dumped)
    for shown in ["\(value)", String(reflecting: value), dumped] {
        #expect(!shown.contains(secret), "\(type(of: value)): \(shown.prefix(2000))", sourceLocation: sourceLocation)
    }
}
