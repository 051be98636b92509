import Foundation
import NessHTTP

extension MockTransport {
    /// Adds a route that behaves like a broken server.
    ///
    /// ```swift
    /// mock.on(.get, "films/1", misbehaving: "reset-in-body")
    /// // NessError.Kind.connectionLost, with half of the body:
    /// let outcome = await ness.get("films/1").dataRequest().settled
    /// ```
    ///
    /// The route starts a `TestServer` on 127.0.0.1 with the misbehavior. A matching request goes to that server over a real connection,
    /// regardless of its host and scheme, so the client sees real bytes, resets and silence. The connection carries no TLS and uses no
    /// proxy. The server runs until the route is removed, or the mock is released or shut down.
    ///
    /// Only the transport is real. Timeouts and delays use the manager's clock: a test of a silent server advances it. The steps of a
    /// misbehavior that counts connections or requests (`Misbehavior.requestCount`) count those of this route.
    ///
    /// Every request fails with `MockTransportError.invalidRoute` if the server can't start, if no misbehavior has that name, or, over
    /// URLSession on Linux, if the fault can end the process (`onlyOutOfProcess`).
    /// - Parameters:
    ///   - method: The method; `nil` for any. The catalog is meant for GET.
    ///   - pattern: The URLs that the route matches: see `on(_:_:_:)`.
    ///   - name: The name of a misbehavior of `Misbehavior.all`.
    /// - Returns: The route. It stays registered whether or not the caller keeps this value.
    @discardableResult
    public func on(_ method: HTTPMethod?, _ pattern: String, misbehaving name: String) -> Route {
        add(method, pattern, Result { .transport(try MisbehavingTransport(named: name)) })
    }

    /// Adds a route that behaves like a broken server, with a misbehavior that the test defines: see `on(_:_:misbehaving:)`.
    /// - Parameters:
    ///   - method: The method; `nil` for any.
    ///   - pattern: The URLs that the route matches: see `on(_:_:_:)`.
    ///   - misbehavior: The misbehavior.
    /// - Returns: The route. It stays registered whether or not the caller keeps this value.
    @discardableResult
    public func on(_ method: HTTPMethod?, _ pattern: String, misbehaving misbehavior: Misbehavior) -> Route {
        add(method, pattern, Result { .transport(try MisbehavingTransport(misbehavior)) })
    }
}

extension RequestBuilder {
    /// Serves this request as a broken server would, instead of the manager's transport: see `MockTransport.on(_:_:misbehaving:)`.
    ///
    /// The server runs as long as the builder and its requests exist. If it can't start, or no misbehavior has that name, the request fails
    /// with `MockTransportError.invalidRoute`.
    /// - Parameter name: The name of a misbehavior of `Misbehavior.all`.
    public func mock(misbehaving name: String) -> RequestBuilder { mock(Result { try MisbehavingTransport(named: name) }) }

    /// Serves this request as a broken server would, with a misbehavior that the test defines: see `mock(misbehaving:)`.
    /// - Parameter misbehavior: The misbehavior.
    public func mock(misbehaving misbehavior: Misbehavior) -> RequestBuilder { mock(Result { try MisbehavingTransport(misbehavior) }) }

    private func mock(_ transport: Result<MisbehavingTransport, any Error>) -> RequestBuilder {
        switch transport {
        case .success(let transport): set(transport: transport)
        case .failure(let error): mock { _ in throw error }
        }
    }
}

/// Sends every request to a separate `TestServer` on 127.0.0.1, which shows a misbehavior.
private final class MisbehavingTransport: Transport {
    private let server: TestServer
    private let transport: any Transport

    /// Starts the server.
    /// - Throws: `MockTransportError.invalidRoute`.
    init(_ misbehavior: Misbehavior) throws {
        transport = DefaultTransport.makeForLoopback()
        #if canImport(FoundationNetworking)
        guard !misbehavior.onlyOutOfProcess || !(transport is URLSessionTransport) else {
            throw MockTransportError.invalidRoute("over URLSession on Linux, \"\(misbehavior)\" can end the process or make it hang")
        }
        #endif
        do {
            server = try TestServer(recordsRequests: false, behavior: .script(misbehavior.steps))
        } catch {
            throw MockTransportError.invalidRoute("the server that shows \"\(misbehavior)\" can't start: \(error)")
        }
    }

    convenience init(named name: String) throws {
        guard let misbehavior = Misbehavior.named(name) else {
            let alike = Misbehavior.all.map(\.name).filter { EditDistance.areAlike($0, name) }
            let nearest = alike.min { EditDistance.between($0, name) < EditDistance.between($1, name) }
            let hint = nearest.map { "did you mean \"\($0)\"?" } ?? "see Misbehavior.all"  // wording: a name
            throw MockTransportError.invalidRoute("there is no misbehavior \"\(name)\"; \(hint)")
        }
        try self.init(misbehavior)
    }

    /// All, although the server on 127.0.0.1 has no certificate: as in every mock, the pinned host itself is not involved.
    var tlsCapabilities: TLSCapabilities { .all }
    var reportsInterimResponses: Bool { transport.reportsInterimResponses }

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        guard !request[KeepsContentCoding.self] || transport.keepsContentCoding else {
            throw MockTransportError.invalidReply("over URLSession no body keeps its content coding")
        }
        var parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true) ?? URLComponents()
        (parts.scheme, parts.user, parts.password) = ("http", nil, nil)
        (parts.host, parts.port) = ("127.0.0.1", server.port)
        guard let url = parts.url else { throw TransportError(.invalidRequest, "the URL can't be sent to 127.0.0.1") }
        var request = request
        request.url = url
        request.tlsDemands = nil
        try await transport.send(request, receive: receive)
    }

    func shutdown() async {
        await transport.shutdown()
        await server.stop()
    }
}
