/// The error of an exchange, thrown by a `Transport`.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. `NessError.Kind` has the same names.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// The transport cannot send such a request.
        case invalidRequest
        /// There is no network.
        case offline
        /// The host was not found or did not accept a connection.
        case cannotConnect
        /// The transport may not connect to any address of the host. No connection was opened.
        case addressRejected
        /// The transport's own timeout passed.
        case timedOut
        /// No secure connection could be established.
        case tls
        /// The connection broke.
        case connectionLost
        /// The body ended early.
        case truncated
        /// The server did not send a valid HTTP response.
        case malformedResponse
    }

    /// The kind of failure.
    public var kind: Kind
    /// The reason of the failure, often the text of the system.
    public var reason: String
    /// The underlying error.
    public var underlying: (any Error)?
    /// The reason of a failure of the kind `.tls`, if it is known.
    public var tlsFailure: TLSFailure?
    /// The transport's verdict on sending the request again: `.always` if it sent no byte, `.ifSafe` if it sent some. `nil` if the verdict
    /// depends on the kind alone.
    package var repetition: Repetition?

    /// Makes an error.
    /// - Parameters:
    ///   - kind: The kind of failure.
    ///   - reason: The reason of the failure.
    ///   - tlsFailure: The reason of a failure of the kind `.tls`, if it is known.
    ///   - underlying: The underlying error.
    public init(_ kind: Kind, _ reason: String, tlsFailure: TLSFailure? = nil, underlying: (any Error)? = nil) {
        self.kind = kind
        self.reason = reason
        self.tlsFailure = tlsFailure
        self.underlying = underlying
    }

    /// There is no network.
    public static let offline = TransportError(.offline, "no network is available")
    /// The host did not accept a connection.
    public static let cannotConnect = TransportError(.cannotConnect, "the connection was refused")
    /// The server sent no byte in time.
    public static let timedOut = TransportError(.timedOut, "no byte arrived in time")
    /// The server's certificate is not trusted.
    public static let tls = TransportError(.tls, "the server's certificate is not trusted", tlsFailure: .untrusted)
    /// The connection broke.
    public static let connectionLost = TransportError(.connectionLost, "the connection was lost")
    /// The body ended early.
    public static let truncated = TransportError(.truncated, "the body ended early")
    /// The server did not send a valid HTTP response.
    public static let malformedResponse = TransportError(.malformedResponse, "the server did not send a valid HTTP response")

    /// The error of a request to a transport that has been shut down.
    static var afterShutdown: TransportError { TransportError(.invalidRequest, "the transport has been shut down") }

    /// Returns the error of a body that failed while it was sent: the server may have seen the start of the request.
    package static func whileSending(_ error: any Error) -> any Error {
        guard var failure = error as? TransportError else { return error }
        failure.repetition = .ifSafe
        return failure
    }

    /// Returns the error without the secrets that a request sent. The caller's error may name the request without its credential.
    func hidingSecrets(of request: HTTPRequest) -> TransportError {
        var failure = self
        failure.reason = request.redactor.masked(reason)
        return failure
    }

    /// The reason in one line.
    public var description: String { reason.oneLine }
}

/// An error with which the code that takes a body ends the exchange. The code then receives a `NessError` whose `underlying` is this error.
package protocol ExchangeInterruption: Error {}

/// Bytes arrived faster than they were processed, over a transport that cannot hold the server back. The processed bytes count.
package struct ReceiverFellBehind: ExchangeInterruption, CustomStringConvertible {
    /// The reason.
    package let description: String

    /// Makes the error.
    /// - Parameter limit: The number of unprocessed bytes that the transport keeps.
    package init(limit: Int64) { description = "the body arrived faster than it was processed: more than \(limit >> 20) MiB were buffered" }
}

/// The reason why no secure connection could be established.
public enum TLSFailure: String, Sendable, Hashable, CaseIterable {
    /// The server's certificate has expired, or is not valid yet.
    case expired
    /// No certificate authority that the client trusts has signed the server's certificate. On Apple platforms a certificate for another
    /// host may also have this reason, because the system does not always tell the two apart.
    case untrusted
    /// The server's certificate is for another host.
    case wrongHost
    /// The two sides have no version or cipher in common, or the server does not speak TLS at all. Before TLS 1.3, a server that requires a
    /// client certificate may also report this reason.
    case protocolMismatch
    /// The server's public key is not one that the client expects, or a `serverTrust` closure has rejected its certificate.
    case pinMismatch
    /// The server requires a client certificate or rejects the one that it got, or the client's own cannot be used with its key.
    case clientCertificate
    /// Another reason.
    case other
}
