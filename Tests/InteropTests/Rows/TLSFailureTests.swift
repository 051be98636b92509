#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Handshakes that must fail, with the reason that the error names.
    @Suite(.needs(.nginx, .apache, .node)) struct TLSFailureTests {
        @Test(
            "an invalid certificate is a typed error, and the request is not sent again",
            arguments: [
                (Nginx.Entrance.expired, TLSFailure.expired), (.wrongHost, .wrongHost), (.untrusted, .untrusted),
                (.oldProtocol, .protocolMismatch),
            ])
        func refused(entrance: Nginx.Entrance, expected: TLSFailure) async throws {
            let server = try await Servers.get(Nginx.self)
            let ness = try Wire.curl.ness()
            for method in [HTTPMethod.get, .post] {
                // A control of the request's own is asked for every method, so only the library can say no.
                let request = ness.httpRequest(method, withUrl: server.at("/origin/digest", entrance))
                let error = await request.dataRequest(with: CounterRetryControl(maxRetryCount: 2)).nessError()
                #expect(error?.tlsFailure == expected, "\(String(describing: error))")
                #expect(error?.context.attempts == 1 && error?.mayHaveReachedServer == false && error?.isTransient == false)
            }
        }

        @Test("URLSession trusts only the system's certificate authorities; its error names the reason")
        func system() async throws {
            let address = try await Servers.get(Nginx.self).at("/x", .secure)
            #expect(try await Wire.urlSession.ness().httpRequest(withUrl: address).dataRequest().nessError()?.tlsFailure == .untrusted)
        }

        @Test("a server that speaks no TLS is a mismatch of protocols", arguments: Wire.allCases)
        func plain(wire: Wire) async throws {
            let server = try await Servers.get(Nginx.self)
            let address = server.at("/x").replacingOccurrences(of: "http:", with: "https:")
            let error = try await wire.ness().httpRequest(withUrl: address).dataRequest().nessError()
            #expect(error?.tlsFailure == .protocolMismatch, "\(String(describing: error))")
        }

        @Test("a client without the certificate that a server requires gets a typed error from Apache, and a 400 from nginx")
        func clientCertificate() async throws {
            let apache = try await Servers.get(Apache.self), nginx = try await Servers.get(Nginx.self)
            let paths = [apache.at("/origin/digest", .clientCertificate), nginx.at("/origin/digest", .clientCertificate)]
            let error = try await Wire.curl.ness().httpRequest(.post, withUrl: paths[0]).dataRequest().nessError()
            // In TLS 1.3 Apache refuses after the handshake. If its reset arrives while libcurl sends, libcurl does not read the reason.
            #expect(error?.tlsFailure == .clientCertificate || error?.kind == .connectionLost, "\(String(describing: error))")
            #expect(try await Wire.curl.ness().httpRequest(.post, withUrl: paths[1]).response().statusCode == 400)
            let certificate = try Certificates.authority.get().certificate(for: ["client"])
            let own = try ClientIdentity(
                certificates: NessHTTP.Certificates(pem: Data(certificate.pem().utf8)), key: Data(certificate.keyPEM().utf8))
            let ness = try Wire.curl.ness({ $0.clientIdentities = ["*": own] })
            for path in paths {
                let seen = try await ness.httpRequest(.post, withUrl: path).set(stringBody: "body").decoded(as: SeenBody.self)
                #expect(seen.length == 4)
            }
        }
    }
}
#endif
