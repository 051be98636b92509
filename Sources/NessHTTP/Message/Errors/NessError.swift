import Foundation

/// The error of a failed request: its kind, and a context with the request, the response and the number of attempts.
///
/// The description has all of this in one line, without secrets.
///
/// ```swift
/// do {
///     print(try await ness.get("users").text())
/// } catch NessError.Kind.offline {
///     print("you are offline")
/// } catch let error as NessError where error.kind == .validation {
///     print(error.response?.statusCode ?? 0)
/// }
/// ```
public struct NessError: Error, Sendable {
    /// The kind of the error.
    public var kind: Kind
    /// The circumstances of the error.
    public var context: Context

    /// Makes an error, for a custom loader or a test.
    /// - Parameters:
    ///   - kind: The kind.
    ///   - context: The context.
    public init(_ kind: Kind, _ context: Context) {
        self.kind = kind
        self.context = context
    }

    /// A kind of error, to switch on, to compare and to log. A later version may add kinds, so a `switch` needs a `default`.
    ///
    /// As a pattern it matches an error of any type: `catch NessError.Kind.timedOut`, or `if case NessError.Kind.dropped = error`.
    public struct Kind: RawRepresentable, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// The name of the kind, such as `timedOut`.
        public let rawValue: String
        /// The name in the description of an error.
        fileprivate let title: String
        /// True if the same request may succeed later, because the network or the server failed.
        fileprivate let isTransient: Bool
        /// True if another attempt would end in the same way, or if the caller has ruled it out.
        fileprivate let isFinal: Bool
        /// True if the server may have seen the request.
        fileprivate let reachesServer: Bool

        // A retry policy decides after an error that is neither transient nor final.
        private init(_ rawValue: String, _ title: String, isTransient: Bool = false, isFinal: Bool = false, reachesServer: Bool = true) {
            self.rawValue = rawValue
            self.title = title
            self.isTransient = isTransient
            self.isFinal = isFinal
            self.reachesServer = reachesServer
        }

        /// Finds the kind with a name. Another name makes a custom kind, for the errors of a loader. Such an error is not transient, and
        /// the server may have seen the request.
        /// - Parameter rawValue: The name.
        public init(rawValue: String) { self = Self.allCases.first { $0.rawValue == rawValue } ?? Kind(rawValue, rawValue) }

        /// The request is invalid. Ness did not send it, or sent only a part because its body failed.
        public static let invalidRequest = Kind("invalidRequest", "invalid request", isFinal: true, reachesServer: false)
        /// There is no network.
        public static let offline = Kind("offline", "offline", isTransient: true, reachesServer: false)
        /// The host was not found, did not accept a connection, or no connection was ready within `connectTimeout`. The request never
        /// reached the server.
        public static let cannotConnect = Kind("cannotConnect", "cannot connect", isTransient: true, reachesServer: false)
        /// The rule of the transport, `CurlTransport.Options.allowsAddress`, rejected all addresses of the host or of the proxy. The
        /// request never reached the server.
        public static let addressRejected = Kind("addressRejected", "address rejected", isFinal: true, reachesServer: false)
        /// No byte moved in either direction for the duration of the timeout, or the deadline passed.
        public static let timedOut = Kind("timedOut", "timed out", isTransient: true)
        /// The caller dropped the request, or every caller that waited for a shared request dropped it.
        public static let dropped = Kind("dropped", "dropped", isFinal: true)
        /// No secure connection could be established.
        public static let tls = Kind("tls", "TLS failed", isFinal: true, reachesServer: false)
        /// The connection broke before the response was complete. The server may have acted on the request.
        public static let connectionLost = Kind("connectionLost", "connection lost", isTransient: true)
        /// The response ended before its announced length.
        public static let truncated = Kind("truncated", "truncated response", isTransient: true)
        /// The server did not send a valid HTTP response, or broke the protocol of a resumable upload.
        public static let malformedResponse = Kind("malformedResponse", "malformed response", isTransient: true)
        /// A validator rejected the response, which the error holds.
        public static let validation = Kind("validation", "validation failed")
        /// The response could not be decoded. The error holds it.
        public static let decoding = Kind("decoding", "decoding failed", isFinal: true)
        /// A redirect must not or cannot be followed, or the URL of a resumable upload is not https. The error holds the response.
        public static let redirect = Kind("redirect", "redirect not followed")
        /// A duplicate handler excluded this request, and the reason names its decision. Or the retry budget did not allow a request that a
        /// loader sent before it had a response.
        public static let duplicate = Kind("duplicate", "duplicate", isFinal: true)
        /// The circuit breaker is open, because the host failed repeatedly. The request was not sent.
        public static let circuitOpen = Kind("circuitOpen", "circuit open", isTransient: true, reachesServer: false)
        /// The body is longer than `maximumResponseBytes`. Or a line or an event of a stream, or the body of an error response to a stream
        /// or a download, is longer than 16 MiB.
        public static let responseTooLarge = Kind("responseTooLarge", "response too large")
        /// A file or folder could not be read or written: the disk is full, the folder is missing, or another transfer uses the
        /// destination or the record.
        public static let fileSystem = Kind("fileSystem", "file system error", isFinal: true)
        /// The request has the field `Cache-Control: only-if-cached`, and no stored response satisfies it (RFC 9111, 5.2.1.7). The request
        /// was not sent.
        public static let notCached = Kind("notCached", "not cached", isFinal: true, reachesServer: false)

        /// The kinds of this version.
        public static let allCases: [Kind] = [
            invalidRequest, offline, cannotConnect, addressRejected, timedOut, dropped, tls, connectionLost, truncated, malformedResponse,
            validation, decoding, redirect, duplicate, circuitOpen, responseTooLarge, fileSystem, notCached,
        ]

        /// The name of the kind.
        public var description: String { rawValue }

        /// Returns true if an error is a `NessError` of a kind, so that a kind is a pattern for errors.
        public static func ~= (kind: Kind, error: any Error) -> Bool { (error as? NessError)?.kind == kind }
    }

    /// The circumstances of an error. `NessError` has the request, the response and the underlying error.
    public struct Context: Sendable, CustomReflectable {
        package var request: HTTPRequest?
        package var response: HTTPResponse?
        /// The number of times that the request was sent.
        public var attempts: Int
        /// The reason for the failure, in a few words.
        public var reason: String
        package var underlying: (any Error)?
        /// The time until the circuit breaker lets a request through again, for an error of the kind `.circuitOpen`; else `nil`.
        package var circuitOpenTime: Duration?
        /// The method and the target, for an error without a request.
        package var target: String?
        /// The reason of a failure of the kind `.tls`, if it is known.
        package var tlsFailure: TLSFailure?
        /// The verdict of the code that made the error on sending the request again; `nil` if it depends on the kind alone.
        package var repetition: Repetition?
        /// True if the request's `Authentication` threw the error.
        package var isAuthenticationFailure = false
        /// True if a server may have acted on the request before this error, such as on a POST that it redirected to a GET.
        package var followsAction = false

        /// A mirror without the underlying error, which may show a URL with its secrets.
        public var customMirror: Mirror {
            Mirror(self, children: ["request": request as Any, "response": response as Any, "attempts": attempts, "reason": shownReason])
        }

        /// The reason in one line, without secrets. The text may come from the system.
        /// The reason in one line, without secrets.
        package var shownReason: String { redactor.redacted(text: reason).oneLine }

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

    /// True if the same request may succeed later, because the network or the server failed; false if another attempt cannot help. A
    /// rejected response is not transient: a retry policy decides by its status.
    public var isTransient: Bool { kind.isTransient && !repetition.isRuledOut }

    /// True if the request's `Authentication` threw the error, for example because the refresh of the credential failed. Either the request
    /// was not sent, or the server had rejected its credential. Errors of other types than `NessError` pass unchanged.
    public var isAuthenticationFailure: Bool { context.isAuthenticationFailure }

    /// True if the server may have acted on the request, in any attempt. False only if the request certainly never reached it: no attempt
    /// sent the request, or no connection was established.
    public var mayHaveReachedServer: Bool {
        if context.followsAction { return true }
        return switch context.repetition {
        case .always?: false
        case .ifSafe?: true
        case .never?, nil: kind.reachesServer
        }
    }

    /// The reason why no secure connection could be established. `nil` for an error of another kind than `.tls`.
    public var tlsFailure: TLSFailure? { kind == .tls ? context.tlsFailure ?? .other : nil }

    /// The wait before another request: the response's `Retry-After` (RFC 9110, 10.2.3), or the time until the open circuit breaker lets a
    /// request through. That time is zero while the breaker probes the host. `nil` if neither is known.
    public var retryAfter: Duration? { context.circuitOpenTime ?? context.response?.retryAfter }

    /// The request. `nil` if the URL was invalid, because then no request was made.
    public var request: HTTPRequest? { context.request }

    /// The response. If the response was cut short, the part that was received. If the circuit breaker, the deadline or a drop ended the
    /// request after a failed attempt and before the next response, the response of that attempt. `nil` without a response.
    public var response: HTTPResponse? { context.response }

    /// The underlying error, if there is one, such as a decoder's error or the API's own error (`decodingErrors`). If the circuit breaker,
    /// the deadline or a drop ended the request after a failed attempt, the error of that attempt.
    public var underlying: (any Error)? { context.underlying }
}

extension NessError: RedactedValue, LocalizedError, CustomNSError {
    /// The request, the status and start of the response, the number of attempts and the reason: one line, without secrets.
    package var redactedDescription: String {
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
        // A caller who sends such a request again may cause its effect twice.
        let mayHaveActed = kind == .connectionLost && mayHaveReachedServer && context.request?.isIdempotent == false
        let warning = mayHaveActed ? "; the server may have acted on the request" : ""
        return "\(asked)\(came ?? "")\(tried): \(kind.title): \(redactor.redacted(text: context.reason).oneLine)\(warning)"
    }
    /// The same string as `description`.
    public var errorDescription: String? { description }
    /// The error domain `Ness.NessError`.
    public static var errorDomain: String { "Ness.NessError" }
    /// The place of the kind in `Kind.allCases`; -1 for a custom kind.
    public var errorCode: Int { Kind.allCases.firstIndex(of: kind) ?? -1 }
    /// The description as the only entry.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}

extension NessError: RepetitionSource {
    package var repetition: Repetition {
        if kind.isFinal { return .never(kind.title) }
        if let known = context.repetition, known.isRuledOut { return known }
        return mayHaveReachedServer ? .ifSafe : .always
    }
}

extension NessError: DropError {
    package var isDrop: Bool { kind == .dropped }

    /// Returns the error of a loop whose task was canceled: the error of the dropped request, if there was one.
    static func cancelled(_ error: (any Error)?) -> NessError {
        if let known = error as? NessError, known.isDrop { return known }
        return NessError(.dropped, Context(request: nil, reason: "the task was canceled"))
    }
}

/// The reason why a request cannot be sent: its URL, its body or another part is invalid.
package struct InvalidRequest: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
