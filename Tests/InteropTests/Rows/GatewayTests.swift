#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Failures that HAProxy reports for the server behind it.
    @Suite(.needs(.haproxy, .node)) struct GatewayTests {
        @Test(
            "502, 503 and 504 are responses; a control retries them for a GET, and a POST is sent once", arguments: Wire.allCases,
            [("/garbage", HAProxy.Entrance.forwarding, 502), ("/", .originless, 503), ("/silent", .impatient, 504)])
        func failures(wire: Wire, route: (path: String, entrance: HAProxy.Entrance, status: Int)) async throws {
            let address = try await Servers.get(HAProxy.self).at(route.path, route.entrance)
            let plain = try await wire.ness().httpRequest(withUrl: address).response()
            #expect(plain.statusCode == route.status)
            // The waits between the attempts take no time.
            let ness = try wire.ness {
                $0.retryControl = BackoffRetryControl(maxRetryCount: 2)
                $0.clock = ManualClock(advancesAutomatically: true)
                $0.timeout = .seconds(1_000_000)
            }
            for (method, attempts) in [(HTTPMethod.get, 3), (.post, 1)] {
                let error = await ness.httpRequest(method, withUrl: address).validate().dataRequest().nessError()
                #expect(error?.kind == .validation && error?.response?.statusCode == route.status)
                #expect(error?.context.attempts == attempts)
            }
        }

        @Test("a Retry-After beyond the control's limit ends the attempts immediately", arguments: Wire.allCases)
        func limited(wire: Wire) async throws {
            let address = try await Servers.get(HAProxy.self).at("/", .limiting)
            let ness = try wire.ness { $0.retryControl = BackoffRetryControl(maxRetryCount: 5) }
            let error = await ness.httpRequest(withUrl: address).validate().dataRequest().nessError()
            #expect(error?.response?.statusCode == 429 && error?.context.attempts == 1)
        }

        @Test("a silent server causes a typed timeout, and the next request succeeds", arguments: Wire.allCases)
        func timeout(wire: Wire) async throws {
            let server = try await Servers.get(HAProxy.self), ness = try wire.ness()
            let error = await ness.httpRequest(withUrl: server.at("/silent")).set(timeout: .milliseconds(300)).dataRequest().nessError()
            #expect(error?.kind == .timedOut && error?.isTransient == true)
            #expect(try await ness.httpRequest(withUrl: server.at("/seen")).set(header: "X-Id", to: "after").text() == "seen")
        }
    }
}
#endif
