#if os(Linux)
import CNessCurl

/// A multi handle of libcurl, which has its own connections.
///
/// `@unchecked Sendable`: only the engine's thread uses it.
struct CurlMultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    /// Makes a handle. Fails if the system has no memory or no descriptors for one.
    /// - Parameter waker: The descriptor that wakes the handle's thread. It has to outlive the handle.
    init?(wokenBy waker: Int32) {
        guard let pointer = ness_curl_multi_init(waker) else { return nil }
        self.pointer = pointer
    }

    /// Closes the connections and releases the handle.
    func release() { ness_curl_multi_cleanup(pointer) }
}
#endif
