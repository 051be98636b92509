#if os(Linux)
import CNessCurl

/// A cache of TLS sessions, shared by all handles of a template. Before 8.12, each handle would otherwise have a separate cache, and no
/// handshake could resume a session. Before libcurl resumes a session, it compares the same values as before it reuses a connection.
///
/// Each handle that uses the cache retains this object.
final class CurlSessions {
    let pointer: UnsafeMutableRawPointer

    /// Makes a cache. Fails if the system has no memory left.
    init?() {
        guard let pointer = ness_curl_sessions_make() else { return nil }
        self.pointer = pointer
    }

    deinit { ness_curl_sessions_free(pointer) }
}
#endif
