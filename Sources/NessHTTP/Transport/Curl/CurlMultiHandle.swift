#if os(Linux)
import CNessCurl

/// A multi handle of libcurl, which has connections of its own.
///
/// `@unchecked Sendable`: only the engine's thread uses it, except for `wake()`, which any thread may call under the engine's lock until the
/// engine has put another handle, or none, in its place.
struct CurlMultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    /// Makes a handle. Fails if the system has no memory or no descriptors for one.
    init?() {
        guard let pointer = ness_curl_multi_init() else { return nil }
        self.pointer = pointer
        // Without descriptors libcurl makes a handle that cannot be woken. Its thread would sleep while exchanges wait.
        if !wake() {
            release()
            return nil
        }
    }

    /// Ends the sleep of the thread, or else its next one.
    /// - Returns: False if the handle cannot be woken.
    @discardableResult func wake() -> Bool { ness_curl_multi_wakeup(pointer) == 0 }

    /// Closes the connections and releases the handle.
    func release() { ness_curl_multi_cleanup(pointer) }
}
#endif
