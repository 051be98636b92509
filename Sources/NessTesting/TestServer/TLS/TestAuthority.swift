import Foundation

/// A certificate authority for tests. It lives in memory. A client trusts it only after it was given the authority's `pem`.
///
/// ```swift
/// let authority = try TestAuthority()
/// let server = try await TestServer.start(
///     certificate: authority.certificate()
/// ) { _ in .text("hi") }
/// // server.url starts with https://127.0.0.1:
/// ```
/// It needs OpenSSL 3. On Linux that is `libssl.so.3`, which is installed wherever libcurl uses it. On a Mac, install it with Homebrew
/// (`brew install openssl@3`) or MacPorts. Elsewhere, set the environment variable `NESS_OPENSSL` to the path of the library `libssl`. A
/// simulator cannot load a Mac's library.
public final class TestAuthority: Sendable {
    let root: TestCertificate
    /// The authority's own certificate, for a client's list of trusted authorities.
    public let pem: String

    /// Makes an authority with a new key.
    /// - Parameter name: The issuer's name in certificates.
    /// - Throws: `TestServerError` if OpenSSL is missing.
    public init(name: String = "Ness test authority") throws {
        let day = Duration.seconds(86_400)
        root = try TestCertificate(
            name: name, extensions: [(OpenSSL.basicConstraints, "critical,CA:TRUE")], validFrom: .zero - day, until: day * 365, issuer: nil)
        pem = try root.pem()
    }

    /// Makes a certificate for a server or a client, with a new key.
    /// - Parameters:
    ///   - hosts: The host names and IPv4 addresses that the certificate is valid for. A name may begin with `*.`. A client's do not
    ///     matter.
    ///   - start: The start of the validity, relative to now.
    ///   - end: The end of the validity, relative to now. A negative duration makes an expired certificate.
    /// - Throws: `TestServerError` if OpenSSL is missing, or rejects a host.
    public func certificate(
        for hosts: [String] = ["localhost", "127.0.0.1"], validFrom start: Duration = .seconds(-172_800),
        until end: Duration = .seconds(172_800)
    ) throws -> TestCertificate {
        let names = hosts.map { host in
            let isAddress = host.split(separator: ".").count == 4 && host.allSatisfy { $0.isNumber || $0 == "." }
            return (isAddress ? "IP:" : "DNS:") + host
        }
        let extensions = [(OpenSSL.subjectAltName, names.joined(separator: ","))]
        return try TestCertificate(name: "Ness test server", extensions: extensions, validFrom: start, until: end, issuer: root)
    }
}
