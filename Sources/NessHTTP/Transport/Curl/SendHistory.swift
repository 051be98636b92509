#if canImport(CNessCurl)
/// Decides whether a request may be sent on a connection, and whether it may be sent again on another. Remembers that it was sent.
struct SendHistory: Sendable {
    /// The reason why a send was prevented or ended.
    private enum Refusal {
        /// The connection was stale. No byte was sent.
        case stale
        /// libcurl wanted to repeat the request, because the connection died.
        case resend
        /// The server does not know the expectation (417). No byte of the body was sent.
        case expectation
    }

    /// True once the request was sent on the current connection.
    private(set) var isSent = false
    /// True if the request was sent on an earlier connection.
    private(set) var wasSentBefore = false
    /// True while the body waits for a 100 (Continue).
    private(set) var expectsContinue: Bool
    private let mayRepeat: Bool
    private var refusal: Refusal?
    private var hasRestarted = false

    /// Makes the history of a request that was not sent yet.
    init(_ request: HTTPRequest) {
        expectsContinue = Self.expectsContinue(request)
        mayRepeat = !request.needsFreshConnection
    }

    /// Returns true if the body of a request waits for a 100 (Continue) at first.
    static func expectsContinue(_ request: HTTPRequest) -> Bool { request[ExpectsContinue.self] != nil && request.body != nil }

    /// True if a send was prevented or ended, and no other followed.
    var wasRefused: Bool { refusal != nil }

    /// True if no byte of the request was ever sent.
    var isUnsent: Bool { !isSent && !wasSentBefore }

    /// Returns true if the request may be sent on the current connection.
    /// - Parameter isStale: Checks whether the server has closed the connection or sent bytes on it unasked.
    mutating func maySend(unless isStale: () -> Bool) -> Bool {
        if isSent { refusal = .resend } else if isStale() { refusal = .stale } else { isSent = true }
        return refusal == nil
    }

    /// Notes that the server has refused the expectation before a byte of the body was sent.
    mutating func refuseExpectation() { refusal = .expectation }

    /// Returns true if the transfer is repeated on a connection of its own: the prevented send had not begun, or the request may be sent
    /// twice, or the server wants it without an expectation.
    /// - Parameter hasHead: True if the head of the response has arrived.
    mutating func restarts(hasHead: Bool) -> Bool {
        switch refusal {
        case .expectation: expectsContinue = false
        case .stale, .resend:
            guard !hasRestarted, !hasHead, refusal == .stale || mayRepeat else { return false }
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
