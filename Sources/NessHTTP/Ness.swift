import Foundation

/// The manager: knows what a group of requests has in common, builds requests and sends them.
///
/// ```swift
/// let ness = Ness {
///     $0.baseURL = URL(string: "https://api.example.com/v1/")
///     $0.defaultHeaders = ["Accept-Language": "en"]
/// }
/// ness.httpRequest(.get, withUrl: "users/1")
///     .validate(statusCodes: 200..<300)
///     .dataRequest()
///     .then { result -> User in try result.message.parseJSONBody() }
///     .then(on: .main) { user in show(user) }
///     .handle { error in print(error) }
/// ```
///
/// A request that was started ends also when its manager is released.
public final class Ness: Sendable {
    /// What all requests of a manager have in common.
    public struct Configuration: Sendable {
        /// What relative URLs are resolved against; taken as a folder, with or without a slash at its end.
        public var baseURL: URL?
        /// Header fields for every request that does not set them itself.
        public var defaultHeaders: HTTPHeaders = [:]
        /// The longest time without a byte, of requests that set none.
        public var timeout = HTTPRequest.defaultTimeout
        /// The longest time for a whole request, of requests that set none; nil for none.
        public var deadline: Duration?
        /// The most that a response's body may hold, counted after decompression; nil for no limit.
        public var maximumResponseBytes: Int?
        /// How many exchanges run at once with each origin; the others wait, first in, first out. One at least.
        public var maximumConnectionsPerHost = 6
        /// What to do with redirects, of requests that do not say.
        public var redirects = RedirectPolicy.follow()
        /// Whether a redirect may lead from https to http.
        public var allowsInsecureRedirects = false
        /// Names of header fields and parameters that are secret besides the usual ones: not shown, nor sent to another origin.
        public var secretNames: [String] = []
        /// The caller's own stages, which run in this order for every attempt, after `defaultHeaders` and delegate.
        public var loaders: [any HTTPLoader] = []
        /// The wire.
        public var transport: any Transport
        /// What every wait and timeout goes by.
        public var clock: any Clock<Duration> = ContinuousClock()

        init(transport: any Transport) { self.transport = transport }
    }

    /// The delegate, and whose it is. The pipeline knows both by this, and keeps neither.
    private struct Delegation: Sendable {
        weak var manager: Ness?
        weak var delegate: (any NetworkSessionManagerDelegate)?
    }

    private let delegation = Lock(Delegation())
    private let pipeline: Pipeline
    private static let sharedDefault = Lock(Ness())
    /// What the manager was given.
    public let configuration: Configuration

    /// The manager for code that needs no other. It may be replaced.
    public static var `default`: Ness {
        get { sharedDefault.withLock { $0 } }
        set { sharedDefault.withLock { $0 = newValue } }
    }

    /// Makes a manager with a `URLSessionTransport` of its own.
    /// - Parameter configure: Changes the configuration; runs in this call.
    public init(_ configure: (inout Configuration) -> Void = { _ in }) {
        var configuration = Configuration(transport: URLSessionTransport())
        configure(&configuration)
        self.configuration = configuration
        let delegation = delegation
        let environment = Environment(
            baseURL: configuration.baseURL, defaultHeaders: configuration.defaultHeaders,
            willRequest: { request in
                let (manager, delegate) = delegation.withLock { ($0.manager, $0.delegate) }
                guard let manager, let delegate else { return request }
                return delegate.ness(manager, willRequest: request)
            },
            didRequest: { request in
                let (manager, delegate) = delegation.withLock { ($0.manager, $0.delegate) }
                guard let manager, let delegate else { return }
                delegate.ness(manager, didRequest: request)
            })
        pipeline = Pipeline(configuration, environment: environment)
        delegation.withLock { $0.manager = self }
    }

    /// Sees every attempt before it is sent. Held weakly.
    public var delegate: (any NetworkSessionManagerDelegate)? {
        get { delegation.withLock { $0.delegate } }
        set { delegation.withLock { $0.delegate = newValue } }
    }

    /// Begins a request.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: A `String` or a `URL`, absolute or relative to the base URL. A string that is no URL makes the request fail with
    ///     `NessError.invalidRequest` when it is started.
    /// - Returns: A builder, which is a value: it can be kept, changed and sent any number of times.
    public func httpRequest(_ method: HTTPMethod = .get, withUrl url: some URLConvertible) -> RequestBuilder {
        RequestBuilder(ness: self, method: method, url: url)
    }

    // MARK: sending

    /// Sends a request through the pipeline and has the validators judge the response.
    func perform(
        _ request: HTTPRequest, validators: [any ResponseValidator], tracker: RequestTracker
    ) async throws -> HTTPResponse {
        do {
            let response = try await pipeline.load(request)
            try Self.judge(response, by: validators)
            return response
        } catch {
            throw Self.explain(error, request, attempts: tracker.attempts)
        }
    }

    private static func judge(_ response: HTTPResponse, by validators: [any ResponseValidator]) throws {
        for validator in validators {
            let reason: String
            switch validator.validate(for: response) {
            case .valid: continue
            case .invalid: reason = "the response was refused by \(type(of: validator))"
            case .invalidWithReason(let text): reason = text
            }
            throw NessError.validation(NessError.Context(request: response.request, response: response, reason: reason))
        }
    }

    /// The error that the caller sees. What a caller's own loader throws passes as it is.
    private static func explain(_ error: any Error, _ request: HTTPRequest, attempts: Int) -> any Error {
        func context(_ reason: String, _ underlying: (any Error)?) -> NessError.Context {
            NessError.Context(request: request, attempts: attempts, reason: reason, underlying: underlying)
        }
        switch error {
        case is CancellationError, PromiseError.dropped: return NessError.dropped(context("dropped by the caller", nil))
        case let error as TransportError:
            // What a caller has to know before sending it again.
            let isOpen = error.kind == .connectionLost && !request.method.isIdempotent
            let reason = isOpen ? error.reason + "; the server may have acted on the request" : error.reason
            return NessError(error, context(reason, error.underlying))
        default: return error
        }
    }
}

/// The name that users of iONess know the manager by.
public typealias NetworkSessionManager = Ness

/// Sees the requests of a manager. Every method has a default.
///
/// All are called off the main thread, once for every attempt.
public protocol NetworkSessionManagerDelegate: AnyObject, Sendable {
    /// Asks for the request to send.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request as it would be sent, with the default headers. Each attempt begins with the request as it was made.
    /// - Returns: The request to send instead, or the same.
    func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest
    /// Tells that a request is on its way.
    /// - Parameters:
    ///   - manager: The manager.
    ///   - request: The request.
    func ness(_ manager: Ness, didRequest request: HTTPRequest)
}

extension NetworkSessionManagerDelegate {
    /// The request as it is.
    public func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest { request }
    /// Nothing.
    public func ness(_ manager: Ness, didRequest request: HTTPRequest) {}
}

extension NessError {
    /// What a transport's failure is to a caller.
    init(_ error: TransportError, _ context: Context) {
        switch error.kind {
        case .invalidRequest: self = .invalidRequest(context)
        case .offline: self = .offline(context)
        case .cannotConnect: self = .cannotConnect(context)
        case .timedOut: self = .timedOut(context)
        case .tls: self = .tls(context)
        case .connectionLost: self = .connectionLost(context)
        case .truncated: self = .truncated(context)
        case .malformedResponse: self = .malformedResponse(context)
        }
    }
}
