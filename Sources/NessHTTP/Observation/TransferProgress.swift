/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable {
    /// The number of bytes that have moved. For a data request or a stream: bytes sent plus bytes received. For a download: bytes in the
    /// file, including those of earlier runs. For an upload: bytes sent; for a resumable one bytes of the file, including those that the
    /// server has from earlier runs.
    public var completedBytes: Int64
    /// The final number of bytes; `nil` while it is unknown, as it is for a compressed body until the request has succeeded. For a data
    /// request or a stream: the length of the request's body until the head of the response has arrived, and then the sum of both lengths.
    /// A fraction therefore means the upload at first, and decreases when the head arrives. For a download: the length that the server
    /// announces, and until then the size that the caller expects.
    public var totalBytes: Int64?
    /// The speed in bytes per second, averaged over the last few seconds; `nil` until it is known.
    public var bytesPerSecond: Double?

    /// Makes a progress.
    /// - Parameters:
    ///   - completedBytes: The number of bytes that have moved.
    ///   - totalBytes: The final number of bytes; `nil` if it is unknown.
    ///   - bytesPerSecond: The speed in bytes per second; `nil` if it is unknown.
    public init(completedBytes: Int64 = 0, totalBytes: Int64? = nil, bytesPerSecond: Double? = nil) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
    }

    /// The completed fraction, from 0 to 1; `nil` while the total is unknown.
    public var fractionCompleted: Double? {
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 1
    }

    /// The estimated time for the remaining bytes at the current speed; `nil` while the total or the speed is unknown.
    public var estimatedTimeRemaining: Duration? {
        guard let totalBytes, let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        return .seconds(min(1e9, max(0, Double(totalBytes) - Double(completedBytes)) / bytesPerSecond))
    }
}

extension FixedWidthInteger {
    /// Returns the sum of two counts, or the largest number if the sum is larger. Servers and transports may state any.
    package func saturatingAdd(_ other: Self) -> Self {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }
}
