#if os(Linux)
/// Decides whether a request may be sent on a connection, and whether it may be sent again on another. Remembers that it was sent.
struct SendHistory: Sendable {
    /// The reason why a send was prevented or ended.
    private enum Refusal {
        /// The connection was stale. No byte was sent.
        case stale
        /// The connection carries another request, or seems to be dead. No byte was sent.
        case occupied
        /// The connection died under the request.
        case resend
        /// The server does not know the expectation (417). No byte of the body was sent.
        case expectation
    }

    /// One, so that a server that processes nothing does not get the request again and again.
    private static let unprocessedLimit = 1
    /// A fresh connection is usually free, so the third occupied one ends the transfer.
    private static let occupiedLimit = 3

    /// True once the request was sent on the current connection.
    private(set) var isSent = false
    /// True if the request was sent on an earlier connection.
    private(set) var wasSentBefore = false
    /// True while the body waits for a 100 (Continue).
    private(set) var expectsContinue: Bool
    /// The number of times that the request was sent.
    private(set) var sendCount = 0
    private let mayRepeat: Bool
    private var refusal: Refusal?
    /// True after a restart because of a stale or dead connection. There is only one.
    private var hasRestarted = false
    /// The number of connections that were not free.
    private var occupiedCount = 0
    /// The number of sends that the server certainly has not processed.
    private var unprocessedCount = 0

    /// Makes the history of a request that was not sent yet.
    init(_ request: HTTPRequest) {
        expectsContinue = Self.expectsContinue(request)
        mayRepeat = request.isIdempotent && request.body?.isStreamed != true
    }

    /// Returns true if the body of a request waits for a 100 (Continue) at first.
    static func expectsContinue(_ request: HTTPRequest) -> Bool { request[ExpectsContinue.self] != nil && request.body != nil }

    /// True if a send was prevented or ended, and no other followed.
    var wasRefused: Bool { refusal != nil }

    /// True if no byte of the request was ever sent.
    var isUnsent: Bool { !isSent && !wasSentBefore }

    /// Returns true if the request may be sent on the current connection, and notes the send or what prevented it.
    /// - Parameters:
    ///   - isFree: Checks that the connection carries no other request that might receive this one's response.
    ///   - isStale: Checks whether the server has closed the connection or sent unsolicited bytes on it.
    mutating func takeSend(ifFree isFree: () -> Bool = { true }, unless isStale: () -> Bool) -> Bool {
        if isSent || unprocessedCount > Self.unprocessedLimit {
            refusal = .resend
        } else if !isFree() {
            refusal = .occupied
        } else if isStale() {
            refusal = .stale
        } else {
            isSent = true
            sendCount += 1
        }
        return refusal == nil
    }

    /// Returns true if the request may go to another connection, and notes what prevents it. libcurl looks for one when the connection that
    /// carried the request has died.
    mutating func takeMove() -> Bool {
        if isSent { refusal = .resend }
        return refusal == nil
    }

    /// Notes that the request was not sent after all, because it was stopped.
    mutating func takeBack() {
        isSent = false
        sendCount -= 1
    }

    /// Notes that the server certainly has not processed the request (RFC 9113, 8.7). It may be sent on another connection, once.
    mutating func noteUnprocessed() {
        // libcurl may report it twice.
        guard isSent else { return }
        isSent = false
        unprocessedCount += 1
    }

    /// Notes that the connection did not take the request. libcurl repeats such a request by itself, but not on a connection that it has
    /// just opened.
    mutating func noteSendError() {
        if isSent, mayRepeat, refusal == nil { refusal = .resend }
    }

    /// Notes that the server has rejected the expectation before a byte of the body was sent.
    mutating func refuseExpectation() { refusal = .expectation }

    /// Returns true, and notes the restart, if the transfer is repeated on another connection. The reasons: no byte was sent, the request
    /// may be sent twice, or the server rejected the expectation.
    /// - Parameter hasHead: True if the head of the response has arrived.
    mutating func takeRestart(hasHead: Bool) -> Bool {
        switch refusal {
        case .expectation: expectsContinue = false
        case .occupied:
            // A fresh connection is free.
            occupiedCount += 1
            guard !hasHead, occupiedCount < Self.occupiedLimit else { return false }
        case .stale, .resend:
            guard !hasRestarted, !hasHead, unprocessedCount <= Self.unprocessedLimit, refusal == .stale || mayRepeat else { return false }
            hasRestarted = true
        case nil: return false
        }
        wasSentBefore = wasSentBefore || isSent
        isSent = false
        refusal = nil
        return true
    }
}
#endif
