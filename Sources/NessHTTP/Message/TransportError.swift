/// What can go wrong in an exchange.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; each is a case of `NessError`.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// This transport can't send such a request.
        case invalidRequest
        /// There is no network.
        case offline
        /// The host was not found or did not accept a connection.
        case cannotConnect
        /// The transport's own timer ran out.
        case timedOut
        /// No secure connection could be made.
        case tls
        /// The connection broke.
        case connectionLost
        /// The body ended early.
        case truncated
        /// What came is not an HTTP response.
        case malformedResponse
    }

    /// The kind.
    public var kind: Kind
    /// What was the matter, in the words of what lies beneath.
    public var reason: String
    /// The error beneath.
    public var underlying: (any Error)?
    /// The reason of a failure of the kind `.tls`, where it is known.
    public var tlsFailure: TLSFailure?
    /// True if another attempt could only bring the same refusal.
    package var isFinal = false
    /// True if the failure came before the first byte of the request was sent.
    package var isUnsent = false

    /// Makes an error.
    /// - Parameters:
    ///   - kind: The kind.
    ///   - reason: What was the matter.
    ///   - tlsFailure: The reason of a failure of the kind `.tls`, where it is known.
    ///   - underlying: The error beneath.
    public init(_ kind: Kind, _ reason: String, tlsFailure: TLSFailure? = nil, underlying: (any Error)? = nil) {
        self.kind = kind
        self.reason = reason
        self.tlsFailure = tlsFailure
        self.underlying = underlying
    }

    /// There is no network.
    public static let offline = TransportError(.offline, "there is no network")
    /// The host did not accept a connection.
    public static let cannotConnect = TransportError(.cannotConnect, "the connection was refused")
    /// Nothing came in time.
    public static let timedOut = TransportError(.timedOut, "nothing came in time")
    /// No secure connection could be made.
    public static let tls = TransportError(.tls, "the server's certificate is not trusted", tlsFailure: .untrusted)
    /// The connection broke.
    public static let connectionLost = TransportError(.connectionLost, "the connection was lost")
    /// The body ended early.
    public static let truncated = TransportError(.truncated, "the body ended early")
    /// What came is not an HTTP response.
    public static let malformedResponse = TransportError(.malformedResponse, "the answer is not an HTTP response")

    /// The reason.
    public var description: String { reason }
}
