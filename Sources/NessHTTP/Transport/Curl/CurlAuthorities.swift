#if os(Linux)
import CNessCurl
import Foundation

/// The certificates of the authorities that a handle trusts, in the form that this libcurl takes. It has to outlive the handle.
final class CurlAuthorities: Sendable {
    private let pem: Data
    /// The file in memory that holds them, for a libcurl that takes no bytes. `nil` for another one.
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
        // Otherwise the system's folder of certificates would count as well. libcurl 8.21 and 8.22 take nil for the folder of their build.
        try handle.setOnce(ofProxy ? .proxyAuthorityFolder : .authorityFolder, "/dev/null")
        guard let descriptor else { return try handle.setOnce(ofProxy ? .proxyAuthorities : .authorities, pem) }
        // Without a file, libcurl finds no certificate, and fails.
        try handle.setOnce(ofProxy ? .proxyAuthorityFile : .authorityFile, "/proc/self/fd/\(descriptor)")
    }
}
#endif
