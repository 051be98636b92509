#if os(Linux)
import CNessCurl

/// A multi handle of libcurl, which has its own connections.
///
/// `@unchecked Sendable`: only the engine's thread uses it, except for `wake()`, which any thread may call under the engine's lock until
/// the engine has put another handle, or none, in its place.
struct CurlMultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    /// Makes a handle. Fails if the system has no memory or no descriptors for one.
    init?() {
        guard let pointer = ness_curl_multi_init() else { return nil }
        self.pointer = pointer
    }

    /// Ends the sleep of the thread, or else its next one.
    func wake() { ness_curl_multi_wake(pointer) }

    /// Closes the connections and releases the handle.
    func release() { ness_curl_multi_cleanup(pointer) }
}
#endif
