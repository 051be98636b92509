import Foundation

/// A certificate with its private key, by which a client identifies itself to a server: see `Ness.Configuration.clientIdentities`.
///
/// ```swift
/// let identity = ClientIdentity(
///     pkcs12: try Data(contentsOf: file), password: password)
/// let ness = Ness { $0.clientIdentities = ["api.example.com": identity] }
/// ```
public struct ClientIdentity: Sendable, Hashable {
    let pkcs12: Data
    let password: String
    /// The digest of the certificate and its key, in hexadecimal digits. The cache tells users apart by it.
    let digest: String

    /// Makes an identity. Its content is read when a connection is opened: with a wrong password, for example, each request that opens a
    /// connection to a host of the identity fails with `NessError.tls`, and its `tlsFailure` is `.clientCertificate`.
    ///
    /// ```text
    /// openssl pkcs12 -export -in client.pem -inkey key.pem -certfile chain.pem \
    ///   -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1 -out client.p12
    /// ```
    ///
    /// Apple's systems reject the default encryption of OpenSSL 3 as a wrong password.
    /// - Parameters:
    ///   - pkcs12: The certificate, its key, and the certificates up to the authority, in the form of RFC 7292: a `.p12` or `.pfx` file.
    ///   - password: The password of the file.
    public init(pkcs12: Data, password: String) {
        self.pkcs12 = pkcs12
        self.password = password
        digest = SHA256Hash.digest(of: pkcs12).hexadecimal
    }
}

extension ClientIdentity: RedactedValue {
    /// A string without the key and the password.
    public var description: String { "a client identity" }
}
