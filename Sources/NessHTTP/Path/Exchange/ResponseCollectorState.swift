import Foundation

/// The part of a response that has arrived.
struct ResponseCollectorState: Sendable {
    /// The use of the body's bytes. The cases exclude each other, because a sink neither takes nor rejects a redirect that is followed.
    enum BodyUse: Sendable {
        /// All bytes are collected in memory.
        case collected
        /// The response is a redirect that is followed. Only the start of its body is collected.
        case followed
        /// The request's sink takes the bytes.
        case takenBySink
        /// A validator has rejected the head with this error. Only the start of the body is collected, for the error.
        indirect case rejected(NessError)

        var isTaken: Bool { if case .takenBySink = self { true } else { false } }
    }

    /// The reason to end a response before its body is complete: a followed redirect is too long or too slow, the error of a rejected head
    /// has enough of the body, or the body is longer than a limit.
    enum Overrun { case redirect, rejected(NessError), limit(Int) }

    /// The limits on the body that is collected for the error when a validator rejects the head. Such a body may be endless.
    static let rejectedLimit = (bytes: 64 << 10, time: Duration.seconds(1))

    /// The longest time that the body of a followed redirect may take after its head.
    static let redirectTime = Duration.seconds(1)

    var statusCode: Int?
    var headers = HTTPHeaders()
    var body = Data()
    /// The number of received bytes.
    var count: Int64 = 0
    var expected: Int64?
    var bodyUse = BodyUse.collected
    /// The time of the head, on the manager's clock.
    var headTime = Duration.zero
    /// Stops the timer that ends the body of a rejected head.
    var stopTimer: (@Sendable () -> Void)?
    var connection: ConnectionMetrics?
    var trailers: HTTPHeaders?

    /// Makes the response as far as it was received. `nil` before its head.
    func response(_ make: (Int, HTTPHeaders, Data, ConnectionMetrics?) -> HTTPResponse) -> HTTPResponse? {
        statusCode.map { make($0, headers, body, connection) }
    }

    /// Counts bytes, and keeps them unless the sink takes them.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - time: The time on the manager's clock.
    ///   - limit: The longest body that is collected; `nil` for any length. It does not apply to a body that the sink takes, or whose head
    ///     was rejected.
    ///   - bytesBefore: The number of bytes that count toward the limit in addition.
    /// - Returns: The reason to end the response now; `nil` to continue.
    mutating func add(_ data: Data, at time: Duration, limit: Int?, after bytesBefore: Int) -> Overrun? {
        count += Int64(data.count)
        let excess = limit.flatMap { count.saturatingAdd(Int64(bytesBefore)) > $0 ? Overrun.limit($0) : nil }
        switch bodyUse {
        case .takenBySink: return nil
        case .followed:
            body.append(data.prefix(RedirectHistory.bodyLimit - body.count))
            return count > RedirectHistory.bodyLimit || time - headTime > Self.redirectTime ? .redirect : excess
        case .rejected(let error):
            body.append(data.prefix(Self.rejectedLimit.bytes - body.count))
            return body.count == Self.rejectedLimit.bytes ? .rejected(error) : nil
        case .collected:
            if let excess { return excess }
            if body.isEmpty { body = data } else { body.append(data) }
            return nil
        }
    }
}
