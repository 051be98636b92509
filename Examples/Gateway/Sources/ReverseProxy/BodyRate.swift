/// The slowest rate at which a client may send the body of its request.
///
/// A client that sends one byte now and then would otherwise occupy a connection, and one of the upstream, for as long as it likes.
public struct BodyRate: Sendable {
    /// The bytes that the client has to send in each second, on average.
    public var bytesPerSecond: Int
    /// The time that the client may take in addition.
    public var grace: Duration

    /// Makes a rate.
    /// - Parameters:
    ///   - bytesPerSecond: The bytes that the client has to send in each second, on average; at least 1.
    ///   - grace: The time that the client may take in addition.
    public init(bytesPerSecond: Int = 500, grace: Duration = .seconds(60)) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        self.grace = grace
    }

    /// Returns the longest time in which a client may send a number of bytes.
    func time(for bytes: Int) -> Duration { grace + .seconds(Double(bytes) / Double(bytesPerSecond)) }
}

/// The client sent its body more slowly than it may.
struct SlowBody: Error {}
