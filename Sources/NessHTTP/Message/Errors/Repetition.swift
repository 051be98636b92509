/// The verdict on sending a request again after the outcome of an attempt.
package enum Repetition: Hashable, Sendable {
    /// Never, for a reason: another attempt cannot be made, or would end in the same way.
    case never(String)
    /// Only if that is safe, because the server may have acted on the request: see `RetryControl`.
    case ifSafe
    /// Always: the request certainly never reached the server.
    case always

    /// True for `never`.
    package var isRuledOut: Bool { if case .never = self { true } else { false } }
}

/// A value of the library that knows whether a request may be sent again: an error, or a validator that rejects a response.
package protocol RepetitionSource: Sendable {
    /// The verdict after this error, or after the validator's rejection.
    var repetition: Repetition { get }
}
