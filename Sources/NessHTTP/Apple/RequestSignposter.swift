#if canImport(os)
import os

/// Shows each request of a manager as an interval in Instruments, from its start to its end, with all attempts and waits. The intervals
/// contain no secrets and are marked as public. Add it to `Ness.Configuration.observers`.
public struct RequestSignposter: RequestObserver {
    private let signposter: OSSignposter

    /// Makes an observer.
    /// - Parameter signposter: The receiver of the intervals.
    public init(_ signposter: OSSignposter) { self.signposter = signposter }

    /// Starts the interval of a request.
    public func requestDidStart(_ request: HTTPRequest) {
        _ = signposter.beginInterval("request", id: id(of: request), "\(request.description, privacy: .public)")
    }

    /// Ends the interval of a request.
    public func requestDidEnd(_ request: HTTPRequest) {
        signposter.endInterval("request", .beginState(id: id(of: request)))
    }

    // The number is unique in the process, so no state has to be kept between the two ends.
    private func id(of request: HTTPRequest) -> OSSignpostID { OSSignpostID(UInt64(truncatingIfNeeded: request.id)) }
}
#endif
