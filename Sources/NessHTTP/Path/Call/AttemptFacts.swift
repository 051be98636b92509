/// The facts that the attempts of a call have found out.
struct AttemptFacts: Sendable {
    /// The part of an `Authentication` in the last attempt.
    var authentication = AuthenticationPart.none
    /// The credential renewals: one after a 401, and one after a 403.
    var renewals = CredentialRenewals()
    /// The first attempt in which a server may have acted on the request; `nil` for none.
    var firstAction: Int?
}

/// The part of an `Authentication` in an attempt.
enum AuthenticationPart: Sendable {
    case none
    /// The authentication adds a credential, and handles a 401.
    case handles401
    /// The authentication has no credential, because a refresh failed. Another attempt would refresh again.
    case hasFailed
}

/// The credential renewals of one request: one after a 401, and one after a 403. A 401 after a renewal is final.
struct CredentialRenewals: Sendable {
    private var last: Int?

    mutating func consume(after statusCode: Int) -> Bool {
        guard last == nil || (last == 401 && statusCode == 403) else { return false }
        last = statusCode
        return true
    }
}
