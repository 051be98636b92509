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
    /// - Returns: The CURLcode.
    func apply(to easy: UnsafeMutableRawPointer, ofProxy: Bool = false) -> Int32 {
        // Otherwise the system's folder of certificates would count as well. libcurl 8.21 and 8.22 take nil for the folder of their build.
        let code = ness_curl_set_text(easy, ofProxy ? CurlOption.proxyAuthorityFolder : CurlOption.authorityFolder, "/dev/null")
        guard code == 0 else { return code }
        guard let descriptor else {
            let option = ofProxy ? CurlOption.proxyAuthorities : CurlOption.authorities
            return pem.withUnsafeBytes { ness_curl_set_blob(easy, option, $0.baseAddress, $0.count) }
        }
        // Without a file, libcurl finds no certificate, and fails.
        return ness_curl_set_text(
            easy, ofProxy ? CurlOption.proxyAuthorityFile : CurlOption.authorityFile, "/proc/self/fd/\(descriptor)")
    }
}
#endif
