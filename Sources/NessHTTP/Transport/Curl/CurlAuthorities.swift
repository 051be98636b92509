#if os(Linux)
import CNessCurl
import Foundation

/// The CA certificates that a handle trusts, in the form that this version of libcurl accepts. This object has to outlive the handle.
final class CurlAuthorities: Sendable {
    private let pem: Data
    /// The in-memory file with the certificates, for a libcurl that does not accept them as bytes. `nil` for a newer libcurl.
    private let descriptor: Int32?

    /// Keeps certificates.
    /// - Parameter pem: The certificates in PEM form.
    init(_ pem: Data) {
        self.pem = pem
        let takesBytes = CurlLibrary.shared?.takesAuthorities != false
        descriptor = takesBytes ? nil : pem.withUnsafeBytes { ness_memory_file($0.baseAddress, $0.count) }
    }

    deinit { if let descriptor, descriptor >= 0 { close(descriptor) } }

    /// Has a handle trust these authorities, and no others.
    /// - Parameter ofProxy: True for the handshake with a proxy.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    func apply(to handle: CurlHandle, ofProxy: Bool = false) throws {
        // Otherwise libcurl would also trust the system's certificate folder. The path is not nil, because libcurl 8.21 and 8.22 replace
        // nil by the folder of their build.
        try handle.setOnce(ofProxy ? .proxyAuthorityFolder : .authorityFolder, "/dev/null")
        guard let descriptor else { return try handle.setOnce(ofProxy ? .proxyAuthorities : .authorities, pem) }
        // If the in-memory file could not be made, libcurl finds no certificate, and the request fails.
        try handle.setOnce(ofProxy ? .proxyAuthorityFile : .authorityFile, "/proc/self/fd/\(descriptor)")
    }
}
#endif
