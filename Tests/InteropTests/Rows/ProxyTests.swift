#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Requests and tunnels through Squid.
    @Suite(.needs(.squid, .nginx, .node)) struct ProxyTests {
        private func manager(
            port: Int, username: String? = nil, password: String? = nil, observers: [any RequestObserver] = []
        ) throws -> Ness {
            let proxy = try #require(URL(string: "http://127.0.0.1:\(port)"))
            return try Wire.curl.ness(observers: observers) { _ in
            } options: {
                $0.proxy = .url(proxy, username: username, password: password)
            }
        }

        @Test(
            "a plain request and a tunnel arrive, with their bodies, and HTTP/2 goes through the tunnel if it is used",
            arguments: [true, false])
        func open(isOpen: Bool) async throws {
            let squid = try await Servers.get(Squid.self), recorder = ConnectionRecorder()
            let ness =
                isOpen
                ? try manager(port: squid.openPort, observers: [recorder])
                : try manager(port: squid.closedPort, username: Squid.user, password: Squid.password, observers: [recorder])
            try await Interop.expectProxied(ness)
            #expect(recorder.log.entries.last?.httpVersion == Wire.secureVersion)
        }

        @Test("without the right credentials a tunnel is a typed error after one attempt, and a plain request gets the 407")
        func refused() async throws {
            let squid = try await Servers.get(Squid.self), node = try await Servers.get(Node.self),
                nginx = try await Servers.get(Nginx.self)
            for password in [nil, "another word"] {
                let ness = try manager(port: squid.closedPort, username: password == nil ? nil : Squid.user, password: password)
                try await Interop.expectRejected(ness, .get, nginx.securely(at: "/origin/digest"), status: 407)
                let plain = try await ness.httpRequest(withUrl: node.at("/digest")).response()
                #expect(plain.statusCode == 407 && plain.headers["Proxy-Authenticate"]?.contains("Basic") == true)
            }
        }

        @Test("a tunnel that the proxy forbids is a typed error after one attempt", arguments: [HTTPMethod.get, .post])
        func forbidden(method: HTTPMethod) async throws {
            let ness = try manager(port: try await Servers.get(Squid.self).openPort)
            try await Interop.expectRejected(ness, method, "https://denied.test/", status: 403)
            #expect(try await ness.httpRequest(withUrl: "http://denied.test/").response().statusCode == 403)
        }

        @Test("a tunnel to a server that does not listen is a transient error, and even a POST is tried again")
        func missing() async throws {
            let squid = try await Servers.get(Squid.self), ness = try manager(port: squid.openPort)
            let tunnel = ness.httpRequest(.post, withUrl: "https://127.0.0.1:1/").dataRequest(with: CounterRetryControl(maxRetryCount: 2))
            let error = try #require(await tunnel.nessError())
            #expect(error.kind == .cannotConnect && error.isTransient && !error.mayHaveReachedServer, "\(error)")
            #expect(error.context.attempts == 3 && error.context.reason.contains("503"))
            #expect(try await ness.httpRequest(withUrl: "http://127.0.0.1:1/").response().statusCode == 503)
        }
    }

    /// Sends bodies through Squid, plainly and in a tunnel. The proxy's credentials never reach the server.
    static func expectProxied(_ ness: Ness) async throws {
        let node = try await Servers.get(Node.self), nginx = try await Servers.get(Nginx.self)
        for address in [node.at("/digest"), nginx.securely(at: "/origin/digest")] {
            for size in [0, 5, 3 << 20] {
                let seen = try await ness.httpRequest(.post, withUrl: address).set(body: patternedData(size)).decoded(as: SeenBody.self)
                #expect(seen.length == size && seen.method == "POST" && seen.headers["proxy-authorization"] == nil)
                #expect((seen.headers["via"]?.contains("squid") == true) == address.hasPrefix("http:"))
            }
        }
    }

    /// Expects that the proxy rejects a tunnel with a status, once, and that the error shows no password.
    static func expectRejected(_ ness: Ness, _ method: HTTPMethod, _ address: String, status: Int) async throws {
        let tunnel = ness.httpRequest(method, withUrl: address).dataRequest(with: CounterRetryControl(maxRetryCount: 2))
        let error = try #require(await tunnel.nessError())
        #expect(error.kind == .cannotConnect && error.context.attempts == 1 && !error.isTransient, "\(error)")
        #expect(!error.mayHaveReachedServer && error.context.reason.contains("\(status)") && !"\(error)".contains("another word"))
    }
}
#endif
