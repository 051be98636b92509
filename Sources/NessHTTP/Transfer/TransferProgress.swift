/// How far a transfer has come.
public struct TransferProgress: Sendable, Hashable {
    /// How many bytes have moved, sent and received together.
    public var completedBytes: Int64
    /// How many there will be, if that is known: never where the body comes compressed.
    public var totalBytes: Int64?

    /// Makes a progress.
    /// - Parameters:
    ///   - completedBytes: How many bytes have moved.
    ///   - totalBytes: How many there will be; nil where that is not known.
    public init(completedBytes: Int64 = 0, totalBytes: Int64? = nil) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }

    /// Between 0 and 1; nil while the total is not known.
    public var fractionCompleted: Double? {
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 1
    }
}
