/// Facts about a call that its attempts have established.
struct AttemptFacts: Sendable {
    /// The role of the `Authentication` in the last attempt.
    var authentication = AuthenticationPart.none
    /// The credential renewals so far.
    var renewals = CredentialRenewals()
    /// The first attempt in which a server may have acted on the request; `nil` for none.
    var firstAction: Int?
    /// The number of attempts before the last one in which a resumable upload has moved. They do not count for the retry policy.
    var attemptsBeforeProgress = 0
}

/// The role of an `Authentication` in an attempt.
enum AuthenticationPart: Sendable {
    case none
    /// The authentication adds a credential, and handles a 401.
    case handles401
    /// The authentication has no credential, because a refresh failed. Another attempt would refresh again.
    case hasFailed
}

/// The credential renewals of one request: at most one after a 401, and then one after a 403. A 401 after any renewal is final.
struct CredentialRenewals: Sendable {
    /// The status that led to the last renewal; `nil` before the first.
    private var last: Int?

    /// Uses up the renewal after a status. Returns false if none is left.
    mutating func consume(after statusCode: Int) -> Bool {
        guard last == nil || (last == 401 && statusCode == 403) else { return false }
        last = statusCode
        return true
    }
}
