#if os(Linux)
import CNessCurl

/// A memory of TLS sessions, for all handles of a template. Without it, each handle would remember its own before 8.12, and no handshake
/// would be a short one. libcurl compares the same values before it resumes a session as before it uses a connection again.
///
/// Each handle that uses the memory keeps this object.
final class CurlSessions {
    let pointer: UnsafeMutableRawPointer

    /// Makes a memory. Fails if the system has none left.
    init?() {
        guard let pointer = ness_curl_sessions_make() else { return nil }
        self.pointer = pointer
    }

    deinit { ness_curl_sessions_free(pointer) }
}
#endif
