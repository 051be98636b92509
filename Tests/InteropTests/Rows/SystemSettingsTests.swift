#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// URLSession, which takes its proxy from the environment and its authorities from the system. Each row runs in a process of its own,
    /// with servers of its own, and that system trusts their authority.
    @Suite(.needs(.squid, .nginx, .node), .inOwnProcess) struct SystemSettingsTests {
        /// Has the requests of this process go through a port of Squid.
        private static func useProxy(port: Int, credentials: String = "") {
            for name in ["http_proxy", "https_proxy"] { setenv(name, "http://\(credentials)127.0.0.1:\(port)", 1) }
        }

        @Test("a plain request and a tunnel arrive through Squid, with their bodies")
        func open() async throws {
            let squid = try await Servers.get(Squid.self), ness = try Wire.urlSession.ness()
            for (port, credentials) in [(squid.openPort, ""), (squid.closedPort, "\(Squid.user):hidden%20word@")] {
                Self.useProxy(port: port, credentials: credentials)
                try await Interop.expectProxied(ness)
            }
        }

        @Test("a tunnel that Squid rejects is a typed error after one attempt")
        func refused() async throws {
            let squid = try await Servers.get(Squid.self), nginx = try await Servers.get(Nginx.self), ness = try Wire.urlSession.ness()
            let refusals = [(squid.closedPort, nginx.securely(at: "/origin/digest"), 407), (squid.openPort, "https://denied.test/", 403)]
            for (port, address, status) in refusals {
                Self.useProxy(port: port)
                for method in [HTTPMethod.get, .post] { try await Interop.expectRejected(ness, method, address, status: status) }
            }
        }
    }
}
#endif
