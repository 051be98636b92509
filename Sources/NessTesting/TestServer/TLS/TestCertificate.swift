import Foundation
import NessHTTP

/// A server's or a client's certificate with its key, made by a `TestAuthority`.
public final class TestCertificate: @unchecked Sendable {
    // `@unchecked`: the OpenSSL objects do not change after `init`, and their reference counts are atomic.
    let certificate: OpaquePointer
    let key: OpaquePointer
    private let library: OpenSSL

    /// Makes a key and a certificate for it.
    /// - Parameters:
    ///   - name: The common name.
    ///   - extensions: The extensions' numbers and values.
    ///   - start: The start of the validity, relative to now.
    ///   - end: The end of the validity, relative to now.
    ///   - issuer: The certificate that signs this one; `nil` for a self-signed certificate.
    init(name: String, extensions: [(Int32, String)], validFrom start: Duration, until end: Duration, issuer: TestCertificate?) throws {
        let library = try OpenSSL.load()
        let key = try Self.makeKey(library)
        guard let certificate = library.newCertificate() else {
            library.freeKey(key)
            throw Self.failure("X509_new")
        }
        (self.library, self.key, self.certificate) = (library, key, certificate)
        let subject = library.subjectName(certificate)
        let serial = Int.random(in: 1...(.max))
        let isMade =
            library.setVersion(certificate, 2) == 1
            && library.setInteger(library.serialNumber(certificate), serial) == 1
            && library.setTimeFromNow(library.notBefore(certificate), Self.seconds(start)) != nil
            && library.setTimeFromNow(library.notAfter(certificate), Self.seconds(end)) != nil
            && library.addToName(subject, "CN", OpenSSL.ascii, name, -1, -1, 0) == 1
            && library.setIssuerName(certificate, issuer.map { library.subjectName($0.certificate) } ?? subject) == 1
            && library.setPublicKey(certificate, key) == 1
        guard isMade else { throw Self.failure("X509") }
        for (number, value) in extensions { try add(number, value) }
        guard library.sign(certificate, issuer?.key ?? key, library.sha256()) > 0 else { throw Self.failure("X509_sign") }
    }

    /// Returns whole seconds, limited to about thirty years.
    private static func seconds(_ duration: Duration) -> Int {
        let sign = duration < .zero ? -1 : 1
        return sign * Int((duration * sign).clampedForSleep / .seconds(1))
    }

    deinit {
        library.freeCertificate(certificate)
        library.freeKey(key)
    }

    private static func makeKey(_ library: OpenSSL) throws -> OpaquePointer {
        let context = library.newKeyContext(OpenSSL.ecKey, nil)
        defer { library.freeKeyContext(context) }
        var key: OpaquePointer?
        guard library.beginKeyGeneration(context) == 1, library.setCurve(context, OpenSSL.curveP256) == 1,
            library.generateKey(context, &key) == 1, let key
        else { throw failure("EVP_PKEY_keygen") }
        return key
    }

    private func add(_ number: Int32, _ value: String) throws {
        guard let made = library.newExtension(nil, nil, number, value) else { throw Self.failure("X509V3_EXT_conf_nid \(value)") }
        defer { library.freeExtension(made) }
        guard library.addExtension(certificate, made, -1) == 1 else { throw Self.failure("X509_add_ext") }
    }

    /// Returns the certificate as PEM text, without its key.
    package func pem() throws -> String {
        try text("PEM_write_bio_X509") { library.writePEM($0, certificate) }
    }

    /// Returns the private key as PEM text, encrypted if there is a password.
    package func keyPEM(password: String? = nil) throws -> String {
        try text("PEM_write_bio_PKCS8PrivateKey") { bio in
            guard let password else { return library.writeKeyPEM(bio, key, nil, nil, 0, nil, nil) }
            return library.writeKeyPEM(bio, key, library.aes256(), password, Int32(password.utf8.count), nil, nil)
        }
    }

    /// Returns the certificate with its key as a client's identity, with the encryption that all systems know.
    /// - Parameter password: The password of the PKCS #12 file.
    /// - Throws: `TestServerError` if OpenSSL fails.
    public func identity(password: String) throws -> ClientIdentity {
        guard let made = library.newPKCS12(password, nil, key, certificate, nil, OpenSSL.sha1And3DES, OpenSSL.sha1And3DES, 0, 0, 0) else {
            throw Self.failure("PKCS12_create")
        }
        defer { library.freePKCS12(made) }
        return ClientIdentity(pkcs12: Data(try bytes("i2d_PKCS12_bio") { library.writePKCS12($0, made) }), password: password)
    }

    /// Returns the SHA-256 hash of the public key (SubjectPublicKeyInfo) in Base64, by which a client can pin the key.
    /// - Throws: `TestServerError` if OpenSSL fails.
    public func publicKeyHash() throws -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 10)
        let count = library.encodePublicKey(key, nil)
        guard count > 0, count <= bytes.count else { throw Self.failure("i2d_PUBKEY") }
        bytes.withUnsafeMutableBufferPointer { buffer in
            // OpenSSL moves the pointer behind what it writes.
            var start = buffer.baseAddress
            _ = library.encodePublicKey(key, &start)
        }
        return SHA256Hash.digest(of: bytes.prefix(Int(count))).base64EncodedString()
    }

    /// Returns the text that OpenSSL writes to a memory buffer.
    private func text(_ operation: String, _ write: (OpaquePointer?) -> Int32) throws -> String {
        String(decoding: try bytes(operation, write), as: UTF8.self)
    }

    private func bytes(_ operation: String, _ write: (OpaquePointer?) -> Int32) throws -> ArraySlice<UInt8> {
        let bio = library.newBIO(library.memoryMethod())
        defer { _ = library.freeBIO(bio) }
        guard write(bio) == 1 else { throw Self.failure(operation) }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = library.readBIO(bio, &bytes, Int32(bytes.count))
        return bytes.prefix(max(0, Int(count)))
    }

    private static func failure(_ operation: String) -> TestServerError { TestServerError(operation: operation, code: EINVAL) }
}
