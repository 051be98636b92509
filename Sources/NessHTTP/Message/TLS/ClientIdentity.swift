import Foundation

/// A certificate with its private key, by which a client identifies itself to a server: see `Ness.Configuration.clientIdentities`.
///
/// ```swift
/// let identity = ClientIdentity(
///     pkcs12: try Data(contentsOf: file), password: password)
/// let ness = Ness { $0.clientIdentities = ["api.example.com": identity] }
/// ```
public struct ClientIdentity: Sendable, Hashable {
    /// The certificates and the key in the form of RFC 7292, or the certificates alone in that of RFC 7468 if there is a `key`.
    let certificates: Data
    /// The private key in the form of RFC 7468. `nil` if `certificates` contains it.
    let key: Data?
    let password: String
    /// The digest of the certificate and its key, in hexadecimal digits. The cache tells users apart by it.
    let digest: String

    /// Makes an identity. Its content is read when a connection is opened: with a wrong password, for example, each request that opens a
    /// connection to a host of the identity fails with `NessError.Kind.tls`, and its `tlsFailure` is `.clientCertificate`.
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
        (certificates, key, self.password) = (pkcs12, nil, password)
        digest = SHA256Hash.digest(of: pkcs12).hexadecimal
    }

    #if os(Linux)
    /// Makes an identity from certificates and a key in the text form of RFC 7468, for a `CurlTransport`. A key that does not fit its
    /// certificate, or a wrong password, fails each request that opens a connection to a host of the identity, as above.
    ///
    /// ```swift
    /// let identity = try ClientIdentity(
    ///     certificates: Certificates(pem: Data(contentsOf: chainFile)),
    ///     key: Data(contentsOf: keyFile))
    /// ```
    /// - Parameters:
    ///   - certificates: The certificate, followed by those between it and the authority.
    ///   - key: The private key, as `-----BEGIN PRIVATE KEY-----` or the like.
    ///   - password: The password of an encrypted key; `nil` for none.
    /// - Throws: An error if `key` contains no private key, or if the key is encrypted and `password` is missing.
    public init(certificates: Certificates, key: Data, password: String? = nil) throws {
        guard let isEncrypted = PEMKey.isEncrypted(key) else { throw CertificateError("it is not in PEM form", in: "private key") }
        if isEncrypted, password?.isEmpty != false {
            throw CertificateError("it is encrypted, and there is no password", in: "private key")
        }
        if password?.utf8.contains(0) == true { throw CertificateError("its password contains a NUL", in: "private key") }
        // Without a password, OpenSSL would ask for one on the terminal, and block the thread.
        (self.certificates, self.key, self.password) = (certificates.pem, key, password ?? "")
        digest = SHA256Hash.digest(of: certificates.pem + key).hexadecimal
    }
    #endif
}

extension ClientIdentity: RedactedValue {
    /// A string without the key and the password.
    package var redactedDescription: String { "a client identity" }
}
