import Foundation

/// The error of a failed request. Every case has a context with the request, the response and the number of attempts.
///
/// The description has all of this in one line, without secrets.
public enum NessError: Error, Sendable {
    /// The request is invalid. Ness did not send it, or sent only a part because its body failed.
    case invalidRequest(Context)
    /// There is no network.
    case offline(Context)
    /// The host was not found, did not accept a connection, or no connection was ready within `connectTimeout`. The request never reached
    /// the server.
    case cannotConnect(Context)
    /// The rule of the transport, `CurlTransport.Options.allowsAddress`, rejected all addresses of the host or of the proxy. The request never
    /// reached the server.
    case addressRejected(Context)
    /// No byte moved in either direction for the duration of the timeout, or the deadline passed.
    case timedOut(Context)
    /// The caller dropped the request, or every caller that waited for a shared request dropped it.
    case dropped(Context)
    /// No secure connection could be established.
    case tls(Context)
    /// The connection broke before the response was complete. The server may have acted on the request.
    case connectionLost(Context)
    /// The response ended before its announced length.
    case truncated(Context)
    /// The server did not send a valid HTTP response.
    case malformedResponse(Context)
    /// A validator rejected the response. The context holds the response.
    case validation(Context)
    /// The response could not be decoded. The context holds the response.
    case decoding(Context)
    /// A redirect must not or cannot be followed. The context holds its response.
    case redirect(Context)
    /// A duplicate handler excluded this request. The reason names its decision.
    case duplicate(Context)
    /// The circuit breaker is open, because the host failed repeatedly. The request was not sent.
    case circuitOpen(Context)
    /// The body is longer than `maximumResponseBytes`. Or a line or an event of a stream, or the body of an error response to a stream or a
    /// download, is longer than 16 MiB.
    case responseTooLarge(Context)
    /// A file or folder could not be read or written: the disk is full, the folder is missing, or another download uses the destination.
    case fileSystem(Context)
    /// The request has the field `Cache-Control: only-if-cached`, and no stored response satisfies it (RFC 9111, 5.2.1.7). The request was
    /// not sent.
    case notCached(Context)

    /// The circumstances of an error.
    public struct Context: Sendable, CustomReflectable {
        /// The request. `nil` if the URL was invalid, because then no request was made.
        public var request: HTTPRequest?
        /// The response. If the response was cut short, the part that was received. If the circuit breaker, the deadline or a drop ended the
        /// request after a failed attempt and before the next response, the response of that attempt. `nil` without a response.
        public var response: HTTPResponse?
        /// The number of times that the request was sent.
        public var attempts: Int
        /// The reason for the failure, in a few words.
        public var reason: String
        /// The underlying error, if there is one. If the circuit breaker, the deadline or a drop ended the request after a failed attempt,
        /// the error of that attempt.
        public var underlying: (any Error)?
        /// The time until the circuit breaker lets a request through again, for an error of the kind `.circuitOpen`; else `nil`.
        public var circuitOpenTime: Duration?
        /// The method and the target, for an error without a request.
        package var target: String?
        /// The reason of a failure of the kind `.tls`, if it is known.
        package var tlsFailure: TLSFailure?
        /// True if a repeated attempt would fail in the same way.
        package var isFinal = false
        /// True if the request failed before its first byte was sent.
        package var isUnsent = false
        /// True if a part of the request was sent although it is invalid, or although TLS failed.
        package var isPartlySent = false
        /// True if the request's `Authentication` threw the error.
        package var isAuthenticationFailure = false
        /// True if a server may have acted on the request before this error, such as on a POST that it redirected to a GET.
        package var followsAction = false

        /// A mirror without the underlying error, which may show a URL with its secrets.
        public var customMirror: Mirror {
            Mirror(self, children: ["request": request as Any, "response": response as Any, "attempts": attempts, "reason": shownReason])
        }

        /// The reason in one line, without secrets. The text may come from the system.
        private var shownReason: String { redactor.redacted(text: reason).oneLine }

        /// A redactor for strings about the failure. It masks the secrets of the request, and of all requests that led to the response.
        fileprivate var redactor: Redactor {
            let answered = response.map { $0.history.map(\.request) + [$0.request] } ?? []
            return Redactor((request ?? response?.request)?.secrets ?? SecretNames(), sentBy: answered + [request].compactMap { $0 })
        }

        /// Makes a context.
        /// - Parameters:
        ///   - request: The request.
        ///   - response: The response.
        ///   - attempts: The number of times that the request was sent. By default 1, or 0 without a request. The pipeline sets the number
        ///     of its own errors.
        ///   - reason: The reason for the failure, in a few words.
        ///   - underlying: The underlying error.
        public init(
            request: HTTPRequest?, response: HTTPResponse? = nil, attempts: Int? = nil, reason: String, underlying: (any Error)? = nil
        ) {
            self.request = request
            self.response = response
            self.attempts = attempts ?? (request == nil ? 0 : 1)
            self.reason = reason
            self.underlying = underlying
        }
    }

    /// The kinds of errors without their context, to switch on, to compare and to log.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The request cannot be sent as it is.
        case invalidRequest
        /// There is no network.
        case offline
        /// The host was not found, did not accept a connection, or no connection was ready within `connectTimeout`.
        case cannotConnect
        /// The transport may not connect to any address of the host or of the proxy.
        case addressRejected
        /// A timeout or the deadline passed.
        case timedOut
        /// The request was dropped.
        case dropped
        /// No secure connection could be established.
        case tls
        /// The connection broke before the response was complete.
        case connectionLost
        /// The response ended before its announced length.
        case truncated
        /// The server did not send a valid HTTP response.
        case malformedResponse
        /// A validator rejected the response.
        case validation
        /// The response could not be decoded.
        case decoding
        /// A redirect must not or cannot be followed.
        case redirect
        /// A duplicate handler excluded this request.
        case duplicate
        /// The circuit breaker is open.
        case circuitOpen
        /// The body is longer than `maximumResponseBytes`. Or a line or an event of a stream, or the body of an error response to a stream
        /// or a download, is longer than 16 MiB.
        case responseTooLarge
        /// A file or folder could not be read or written.
        case fileSystem
        /// No stored response satisfies a request that forbids the network.
        case notCached
    }

    /// The kind of this error.
    public var kind: Kind { parts.kind }

    /// The context of this error.
    public var context: Context { parts.context }

    /// The only list of all cases. Other code uses `kind` and `context`.
    private var parts: (kind: Kind, context: Context) {
        switch self {
        case .invalidRequest(let context): (.invalidRequest, context)
        case .offline(let context): (.offline, context)
        case .cannotConnect(let context): (.cannotConnect, context)
        case .addressRejected(let context): (.addressRejected, context)
        case .timedOut(let context): (.timedOut, context)
        case .dropped(let context): (.dropped, context)
        case .tls(let context): (.tls, context)
        case .connectionLost(let context): (.connectionLost, context)
        case .truncated(let context): (.truncated, context)
        case .malformedResponse(let context): (.malformedResponse, context)
        case .validation(let context): (.validation, context)
        case .decoding(let context): (.decoding, context)
        case .redirect(let context): (.redirect, context)
        case .duplicate(let context): (.duplicate, context)
        case .circuitOpen(let context): (.circuitOpen, context)
        case .responseTooLarge(let context): (.responseTooLarge, context)
        case .fileSystem(let context): (.fileSystem, context)
        case .notCached(let context): (.notCached, context)
        }
    }

    /// Makes an error of a kind, for a custom loader or a test.
    /// - Parameters:
    ///   - kind: The kind.
    ///   - context: The context.
    public init(_ kind: Kind, _ context: Context) {
        switch kind {
        case .invalidRequest: self = .invalidRequest(context)
        case .offline: self = .offline(context)
        case .cannotConnect: self = .cannotConnect(context)
        case .addressRejected: self = .addressRejected(context)
        case .timedOut: self = .timedOut(context)
        case .dropped: self = .dropped(context)
        case .tls: self = .tls(context)
        case .connectionLost: self = .connectionLost(context)
        case .truncated: self = .truncated(context)
        case .malformedResponse: self = .malformedResponse(context)
        case .validation: self = .validation(context)
        case .decoding: self = .decoding(context)
        case .redirect: self = .redirect(context)
        case .duplicate: self = .duplicate(context)
        case .circuitOpen: self = .circuitOpen(context)
        case .responseTooLarge: self = .responseTooLarge(context)
        case .fileSystem: self = .fileSystem(context)
        case .notCached: self = .notCached(context)
        }
    }

    /// True if the same request may succeed later, because the network or the server failed; false if another attempt cannot help. A
    /// rejected response is not transient: a retry policy decides by its status.
    public var isTransient: Bool {
        switch kind {
        case .offline, .cannotConnect, .timedOut, .connectionLost, .truncated, .malformedResponse, .circuitOpen: !context.isFinal
        case .invalidRequest, .addressRejected, .dropped, .tls, .validation, .decoding, .redirect, .duplicate, .responseTooLarge,
            .fileSystem, .notCached:
            false
        }
    }

    /// True if the request's `Authentication` threw the error, for example because the refresh of the credential failed. Either the request
    /// was not sent, or the server had rejected its credential. Errors of other types than `NessError` pass unchanged.
    public var isAuthenticationFailure: Bool { context.isAuthenticationFailure }

    /// False only if the request certainly never reached the server: no attempt sent it, or no connection was established.
    public var mayHaveReachedServer: Bool {
        if context.followsAction { return true }
        return switch kind {
        case .offline, .cannotConnect, .addressRejected, .circuitOpen, .notCached: false
        case .invalidRequest, .tls: context.isPartlySent
        case .connectionLost: !context.isUnsent
        case .timedOut, .dropped, .truncated, .malformedResponse, .validation, .decoding, .redirect, .duplicate, .responseTooLarge,
            .fileSystem:
            true
        }
    }

    /// The reason why no secure connection could be established. `nil` for an error of another kind than `.tls`.
    public var tlsFailure: TLSFailure? { kind == .tls ? context.tlsFailure ?? .other : nil }

    /// The wait before another request: the response's `Retry-After` (RFC 9110, 10.2.3), or the time until the open circuit breaker lets a
    /// request through. That time is zero while the breaker probes the host. `nil` if neither is known.
    public var retryAfter: Duration? { context.circuitOpenTime ?? context.response?.retryAfter }

    /// The request, if there is one.
    public var request: HTTPRequest? { context.request }

    /// The response, if there is one.
    public var response: HTTPResponse? { context.response }

    /// The underlying error, if there is one, such as a decoder's error or the API's own error (`decodingErrors`).
    public var underlying: (any Error)? { context.underlying }

    /// The name of the kind, for the description.
    private var title: String {
        switch kind {
        case .invalidRequest: "invalid request"
        case .offline: "offline"
        case .cannotConnect: "cannot connect"
        case .addressRejected: "address rejected"
        case .timedOut: "timed out"
        case .dropped: "dropped"
        case .tls: "TLS failed"
        case .connectionLost: "connection lost"
        case .truncated: "truncated response"
        case .malformedResponse: "malformed response"
        case .validation: "validation failed"
        case .decoding: "decoding failed"
        case .redirect: "redirect not followed"
        case .duplicate: "duplicate"
        case .circuitOpen: "circuit open"
        case .responseTooLarge: "response too large"
        case .fileSystem: "file system error"
        case .notCached: "not cached"
        }
    }
}

extension NessError: RedactedValue, LocalizedError, CustomNSError {
    /// The request, the status and start of the response, the number of attempts and the reason: one line, without secrets.
    public var description: String {
        let context = context
        let redactor = context.redactor
        let asked = context.request.map(redactor.redacted) ?? context.target ?? "request"
        let came = context.response.map { response in
            " \u{2192} \(response.statusCode) \(redactor.snippet(of: response.body, contentType: response.headers[HeaderName.contentType]))"
        }
        let tried =
            switch context.attempts {
            case ..<1: " (not sent)"
            case 1: ""
            default: " (\(context.attempts) attempts)"
            }
        return "\(asked)\(came ?? "")\(tried): \(title): \(redactor.redacted(text: context.reason).oneLine)"
    }
    /// The same string as `description`.
    public var errorDescription: String? { description }
    /// The error domain `Ness.NessError`.
    public static var errorDomain: String { "Ness.NessError" }
    /// The description as the only entry.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}

extension NessError: DropError {
    package var isDrop: Bool { kind == .dropped }

    /// Returns the error of a loop whose task was canceled: that of the request which it dropped, if there was one.
    static func cancelled(_ error: (any Error)?) -> NessError {
        if let known = error as? NessError, known.isDrop { return known }
        return .dropped(Context(request: nil, reason: "the task was canceled"))
    }
}

/// The reason why a request must not be sent.
package struct InvalidRequest: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The error of a string that is not a valid URL.
package struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// The reason why the text is not a valid URL.
    package let description: String
}
