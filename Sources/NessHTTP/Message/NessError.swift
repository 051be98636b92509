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
    /// The body is longer than `maximumResponseBytes`.
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

        /// Without the error beneath, which may show a URL with its secrets.
        public var customMirror: Mirror {
            Mirror(self, children: ["request": request as Any, "response": response as Any, "attempts": attempts, "reason": reason])
        }

        /// Makes a context.
        /// - Parameters:
        ///   - request: The request.
        ///   - response: The response.
        ///   - attempts: How often it was sent; the number of the request's attempt unless given.
        ///   - reason: What was the matter, in a few words.
        ///   - underlying: The error beneath.
        public init(
            request: HTTPRequest?, response: HTTPResponse? = nil, attempts: Int? = nil, reason: String, underlying: (any Error)? = nil
        ) {
            self.request = request
            // Who takes the bytes keeps the error that ended them: neither would be let go.
            if request?.sink != nil { self.request?.sink = nil }
            self.response = response
            self.attempts = attempts ?? request?.attempt ?? 0
            self.reason = reason
            self.underlying = underlying
        }
    }

    /// The circumstances.
    public var context: Context {
        switch self {
        case .invalidRequest(let context), .offline(let context), .cannotConnect(let context), .timedOut(let context),
            .dropped(let context), .tls(let context), .connectionLost(let context), .truncated(let context),
            .malformedResponse(let context), .validation(let context), .decoding(let context), .redirect(let context),
            .duplicate(let context), .circuitOpen(let context), .responseTooLarge(let context),
            .fileSystem(let context):
            context
        }
    }

    /// The request, as far as there is one.
    public var request: HTTPRequest? { context.request }

    /// The response, as far as there is one.
    public var response: HTTPResponse? { context.response }

    /// The error beneath, if there is one: what a decoder threw, or what a refused response's body says where `decodingErrors` is given.
    public var underlying: (any Error)? { context.underlying }

    /// The kind of error in words.
    private var title: String {
        switch self {
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

extension NessError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, LocalizedError, CustomNSError {
    /// What was asked, what came back, how often it was tried and what was the matter: one line, without secrets.
    public var description: String {
        let context = context
        let asked = context.request.map(\.description) ?? context.target ?? "request"
        let came = context.response.map { response in
            let secrets = context.request?.secrets ?? response.request.secrets
            return " \u{2192} \(response.statusCode) \(secrets.snippet(of: response.body, contentType: response.headers["content-type"]))"
        }
        let tried =
            switch context.attempts {
            case ..<1: " (not sent)"
            case 1: ""
            default: " (\(context.attempts) attempts)"
            }
        return "\(asked)\(came ?? "")\(tried): \(title): \(context.reason.oneLine)"
    }
    /// As `description`.
    public var debugDescription: String { description }
    /// Only the description, so that dumping an error shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
    /// As `description`.
    public var errorDescription: String? { description }
    /// `Ness.NessError`.
    public static var errorDomain: String { "Ness.NessError" }
    /// Only the description.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}
