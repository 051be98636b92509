/// How far a transfer has come.
public struct TransferProgress: Sendable, Hashable {
    /// How many bytes have moved, sent and received together. For a download: how many of the file are there, those of earlier runs included;
    /// for an upload: how many have been sent.
    public var completedBytes: Int64
    /// How many there will be, if that is known: never where the body comes compressed.
    public var totalBytes: Int64?
    /// How many bytes moved in a second, over the last few; nil until that can be told.
    public var bytesPerSecond: Double?

    /// Makes a progress.
    /// - Parameters:
    ///   - completedBytes: How many bytes have moved.
    ///   - totalBytes: How many there will be; nil where that is not known.
    ///   - bytesPerSecond: How many move in a second; nil where that is not known.
    public init(completedBytes: Int64 = 0, totalBytes: Int64? = nil, bytesPerSecond: Double? = nil) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
    }

    /// Between 0 and 1; nil while the total is not known.
    public var fractionCompleted: Double? {
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 1
    }

    /// How long the rest will take at this speed; nil while that can't be told.
    public var estimatedTimeRemaining: Duration? {
        guard let totalBytes, let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        return .seconds(min(1e9, Double(max(0, totalBytes - completedBytes)) / bytesPerSecond))
    }
}
