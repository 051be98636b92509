import Foundation

/// Decides whether a failed attempt is followed by another.
///
/// The retry stage asks it about errors of the wire, about responses that a validator refused, and about responses whose status asks for
/// another try (408, 429 and 500 and above) even if no validator minds. It is never asked about a request that was dropped, that could not
/// be sent as it is, whose server is not trusted, or about a 401 that authentication has to answer, whether or not it could.
///
/// A control that is given with a request is asked always: it is the caller's word. The manager's is asked only where another attempt does no
/// harm, because the request is idempotent (by its method or by `set(isIdempotent:)`) or the server certainly has not seen it. A wait that
/// would pass the request's deadline is not begun.
///
/// A control may serve any number of requests at once: what it needs to know of one is in the attempt.
public protocol RetryControl: Sendable {
    /// Decides. Runs off the main thread, in the task of the request; it may take its time, and ends with the request.
    /// - Parameter attempt: What was tried, and what came of it.
    /// - Returns: The decision.
    func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision
}

/// An attempt that did not bring what was asked for.
public struct FailedAttempt: Sendable {
    /// The request, as the caller made it.
    public var request: HTTPRequest
    /// The response, if there was one.
    public var response: HTTPResponse?
    /// The error, if there was one: nil for a response that no validator minds.
    public var error: (any Error)?
    /// Which attempt it was, counted from 1.
    public var number: Int
    /// The time since the first attempt began, on the manager's clock.
    public var elapsed: Duration
    /// Whether the server may have seen the request: false only where it certainly has not.
    public var mayHaveReachedServer: Bool
    /// How long the server asks to wait (RFC 9110, 10.2.3), if it does.
    public var retryAfter: Duration?

    /// Makes an attempt: for testing a control on its own.
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The response, if there was one.
    ///   - error: The error, if there was one.
    ///   - number: Which attempt it was, counted from 1.
    ///   - elapsed: The time since the first attempt began.
    ///   - mayHaveReachedServer: Whether the server may have seen the request.
    ///   - retryAfter: How long the server asks to wait.
    public init(
        request: HTTPRequest, response: HTTPResponse? = nil, error: (any Error)? = nil, number: Int = 1, elapsed: Duration = .zero,
        mayHaveReachedServer: Bool = true, retryAfter: Duration? = nil
    ) {
        self.request = request
        self.response = response
        self.error = error
        self.number = number
        self.elapsed = elapsed
        self.mayHaveReachedServer = mayHaveReachedServer
        self.retryAfter = retryAfter
    }
}

/// An error that no control is asked about.
package protocol FinalError: Error {}

/// What a `RetryControl` decides.
public enum RetryControlDecision: Sendable, Hashable {
    /// The attempt was the last.
    case noRetry
    /// Try again at once.
    case retry
    /// Try again after so many seconds.
    case retryAfter(TimeInterval)
}

extension RetryControl where Self == AnyRetryControl {
    /// Tries again where one of several controls would: the first that wants to decides how long to wait.
    /// - Parameter controls: The controls, in the order in which they are asked.
    public static func any(_ controls: [any RetryControl]) -> AnyRetryControl { AnyRetryControl(controls) }
    /// Never tries again: for a request that shall be sent once although the manager has a control.
    public static var never: AnyRetryControl { AnyRetryControl([]) }
}

/// Several controls as one: see `.any(_:)`.
public struct AnyRetryControl: RetryControl {
    private let controls: [any RetryControl]

    init(_ controls: [any RetryControl]) { self.controls = controls }

    /// Asks one control after the other.
    public func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        for control in controls {
            let decision = await control.shouldRetry(attempt)
            if decision != .noRetry { return decision }
        }
        return .noRetry
    }
}
