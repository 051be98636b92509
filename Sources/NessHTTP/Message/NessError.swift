import Foundation

/// What went wrong with a request. Every case holds the same context: what was asked, what came back, how often it was tried.
///
/// The description says all of it in one line, without secrets.
public enum NessError: Error, Sendable {
    /// The request can't be sent as it is: nothing went on the wire.
    case invalidRequest(Context)
    /// There is no network.
    case offline(Context)
    /// The host was not found or did not accept a connection: the server has seen nothing.
    case cannotConnect(Context)
    /// Nothing came for longer than the timeout allows, or the deadline passed.
    case timedOut(Context)
    /// The caller dropped the request, or the last one who waited for it went away.
    case dropped(Context)
    /// No secure connection could be made.
    case tls(Context)
    /// The connection broke before the response was whole. The server may have acted on the request.
    case connectionLost(Context)
    /// The response ended before the length that it announced.
    case truncated(Context)
    /// What came is not an HTTP response.
    case malformedResponse(Context)
    /// A validator refused the response, which the context holds.
    case validation(Context)
    /// The response, which the context holds, could not be decoded.
    case decoding(Context)
    /// A redirect, which the context holds, must not or can't be followed.
    case redirect(Context)
    /// A duplicate policy set this caller aside: the reason names it.
    case duplicate(Context)
    /// The host has failed too often: nothing was sent.
    case circuitOpen(Context)
    /// The body is longer than `maximumResponseBytes`, or a line or an event of a stream longer than 16 MiB.
    case responseTooLarge(Context)
    /// A file or folder could not be written: the disk is full, the folder is missing, another download is at work on the destination.
    case fileSystem(Context)

    /// The circumstances of an error.
    public struct Context: Sendable, CustomReflectable {
        /// The request, as far as there is one: a URL that is none has none.
        public var request: HTTPRequest?
        /// The response, as far as there is one: of one that was cut short, what had come.
        public var response: HTTPResponse?
        /// How often the request was sent.
        public var attempts: Int
        /// What was the matter, in a few words.
        public var reason: String
        /// The error beneath, if there is one.
        public var underlying: (any Error)?
        /// The method and the target where there is no request.
        package var target: String?
        /// The reason of a failure of the kind `.tls`, where it is known.
        package var tlsFailure: TLSFailure?
        /// True if another attempt could only bring the same refusal.
        package var isFinal = false
        /// True if the failure came before the first byte of the request was sent.
        package var isUnsent = false

        /// Without the error beneath, which may show a URL with its secrets.
        public var customMirror: Mirror {
            Mirror(self, children: ["request": request as Any, "response": response as Any, "attempts": attempts, "reason": shownReason])
        }

        /// The reason in one line, without secrets: it may be another's words.
        fileprivate var shownReason: String {
            (request?.secrets ?? response?.request.secrets ?? SecretNames()).redacted(text: reason).oneLine
        }

        /// Makes a context.
        /// - Parameters:
        ///   - request: The request.
        ///   - response: The response.
        ///   - attempts: How often the request was sent; once unless given. The pipeline counts its own errors itself.
        ///   - reason: What was the matter, in a few words.
        ///   - underlying: The error beneath.
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

    /// The kinds of error, without the circumstances: to switch on, to compare and to log by.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The request cannot be sent as it is.
        case invalidRequest
        /// There is no network.
        case offline
        /// The host was not found or did not accept a connection.
        case cannotConnect
        /// A timeout or the deadline passed.
        case timedOut
        /// The request was dropped.
        case dropped
        /// No secure connection could be made.
        case tls
        /// The connection broke before the response was whole.
        case connectionLost
        /// The response ended before the length that it announced.
        case truncated
        /// The server's answer is not an HTTP response.
        case malformedResponse
        /// A validator refused the response.
        case validation
        /// The response could not be decoded.
        case decoding
        /// A redirect must not or cannot be followed.
        case redirect
        /// A duplicate policy set this caller aside.
        case duplicate
        /// The circuit breaker held the request back.
        case circuitOpen
        /// The body is longer than `maximumResponseBytes`, or a line or an event of a stream longer than 16 MiB.
        case responseTooLarge
        /// A file or folder could not be read or written.
        case fileSystem
    }

    /// The kind of this error.
    public var kind: Kind { parts.kind }

    /// The circumstances.
    public var context: Context { parts.context }

    /// The one list of the cases: everything else asks `kind` and `context`.
    private var parts: (kind: Kind, context: Context) {
        switch self {
        case .invalidRequest(let context): (.invalidRequest, context)
        case .offline(let context): (.offline, context)
        case .cannotConnect(let context): (.cannotConnect, context)
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
        }
    }

    /// Makes an error of a kind: for a loader of one's own, or a test.
    /// - Parameters:
    ///   - kind: The kind.
    ///   - context: The circumstances.
    public init(_ kind: Kind, _ context: Context) {
        switch kind {
        case .invalidRequest: self = .invalidRequest(context)
        case .offline: self = .offline(context)
        case .cannotConnect: self = .cannotConnect(context)
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
        }
    }

    /// True if the same request may succeed later: the network or the server failed, not the request. A refused response is not
    /// transient by itself; a `RetryControl` looks at its status.
    public var isTransient: Bool {
        switch kind {
        case .offline, .cannotConnect, .timedOut, .connectionLost, .truncated, .malformedResponse, .circuitOpen: !context.isFinal
        case .invalidRequest, .dropped, .tls, .validation, .decoding, .redirect, .duplicate, .responseTooLarge, .fileSystem: false
        }
    }

    /// False only if the server certainly has not seen the request: nothing was sent, or no connection was made.
    public var mayHaveReachedServer: Bool {
        switch kind {
        case .invalidRequest, .offline, .cannotConnect, .tls, .circuitOpen: false
        case .connectionLost: !context.isUnsent
        case .timedOut, .dropped, .truncated, .malformedResponse, .validation, .decoding, .redirect, .duplicate, .responseTooLarge,
            .fileSystem:
            true
        }
    }

    /// The reason why no secure connection could be made; `nil` for an error of another kind than `.tls`.
    public var tlsFailure: TLSFailure? { kind == .tls ? context.tlsFailure ?? .other : nil }

    /// The request, as far as there is one.
    public var request: HTTPRequest? { context.request }

    /// The response, as far as there is one.
    public var response: HTTPResponse? { context.response }

    /// The error beneath, if there is one: what a decoder threw, or what a refused response's body says where `decodingErrors` is given.
    public var underlying: (any Error)? { context.underlying }

    /// The kind of error in words.
    private var title: String {
        switch kind {
        case .invalidRequest: "invalid request"
        case .offline: "offline"
        case .cannotConnect: "cannot connect"
        case .timedOut: "timed out"
        case .dropped: "dropped"
        case .tls: "no secure connection"
        case .connectionLost: "connection lost"
        case .truncated: "truncated response"
        case .malformedResponse: "malformed response"
        case .validation: "not valid"
        case .decoding: "not decodable"
        case .redirect: "redirect not followed"
        case .duplicate: "duplicate"
        case .circuitOpen: "circuit open"
        case .responseTooLarge: "response too large"
        case .fileSystem: "file system"
        }
    }
}

extension NessError: CustomStringConvertible, CustomReflectable, LocalizedError, CustomNSError {
    /// What was asked, what came back, how often it was tried and what was the matter: one line, without secrets.
    public var description: String {
        let context = context
        let asked = context.request.map(\.description) ?? context.target ?? "request"
        let came = context.response.map { response in
            let secrets = context.request?.secrets ?? response.request.secrets
            return
                " \u{2192} \(response.statusCode) \(secrets.snippet(of: response.body, contentType: response.headers[HeaderName.contentType]))"
        }
        let tried =
            switch context.attempts {
            case ..<1: " (not sent)"
            case 1: ""
            default: " (\(context.attempts) attempts)"
            }
        return "\(asked)\(came ?? "")\(tried): \(title): \(context.shownReason)"
    }
    /// Only the description, so that dumping an error shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
    /// As `description`.
    public var errorDescription: String? { description }
    /// `Ness.NessError`.
    public static var errorDomain: String { "Ness.NessError" }
    /// Only the description.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}
