import Foundation

/// A request on its way: the call that it belongs to, and what the steps above have added.
///
/// The request is the caller's, or one that a custom loader makes itself, such as a login. A step passes a changed copy to the steps below.
/// The steps above keep the old one.
struct CallContext: Sendable {
    private struct Fields: Sendable {
        var call: Call
        /// The request of the call, or the one that a loader made itself.
        var request: HTTPRequest
        var options: CopyOnWriteBox<CallOptions>
        var isLoaderMade = false
        var requestID: Int
        var attempt = 1
        var credentialScope: URL?
        var cookies: JarCookies?
        var job: DownloadJob?
    }

    // A box, so that a context takes one word in the frame of each waiting task.
    private var box: CopyOnWriteBox<Fields>

    init(_ call: Call) {
        box = CopyOnWriteBox(Fields(call: call, request: call.request, options: call.boxedOptions, requestID: call.request.id))
    }

    var call: Call { box.fields.call }
    /// The request that errors name: the caller's, even after a replacement, or the one that a loader made itself.
    var request: HTTPRequest { box.fields.request }
    var options: CallOptions { box.fields.options.fields }
    var validators: [any ResponseValidator] { isLoaderMade ? [] : call.options.validators }
    /// The transport of this call alone; `nil` for the manager's.
    var transport: (any Transport)? { call.options.overrides?.transport }
    /// True if the request may share an exchange or a stored response. False for a stream, whose body has only one reader, and for the steps
    /// of a resumable upload. False for a request with its own transport or its own loaders at `.exchange`, which may change the exchange in
    /// any way.
    var mayShare: Bool {
        let overrides = call.options.overrides
        let isSeparate = options.kind == .stream || options.upload != nil || overrides?.transport != nil
        return !isSeparate && overrides?.loaders[.exchange].isEmpty != false
    }
    /// True if a custom loader made the request, on behalf of the call.
    var isLoaderMade: Bool { box.fields.isLoaderMade }
    /// The identifier of the request whose response gets the validators and the sink of this context. It differs from `request.id` after
    /// `acceptingReplacement(_:)`.
    var requestID: Int { box.fields.requestID }
    /// The number of the attempt, counted from 1.
    var attempt: Int {
        get { box.fields.attempt }
        set { box.change { $0.attempt = newValue } }
    }
    /// The base URL for which the manager's credential is valid; `nil` if the manager added no credential.
    var credentialScope: URL? {
        get { box.fields.credentialScope }
        set { box.change { $0.credentialScope = newValue } }
    }
    /// The values that a cookie jar wrote into the `Cookie` field.
    var cookies: JarCookies? {
        get { box.fields.cookies }
        set { box.change { $0.cookies = newValue } }
    }
    /// The job that the members of a flight attach to; `nil` for a request other than a download.
    var job: DownloadJob? {
        get { box.fields.job }
        set { box.change { $0.job = newValue } }
    }

    /// Returns the source of a request's credential; `nil` for none.
    @inline(never)
    func authentication(for request: HTTPRequest) -> (any Authentication)? {
        options.authentication.authentication(for: request, in: options.environment)
    }

    /// Returns the identity of a request by which flights are shared; `nil` for a request that equals no other.
    /// - Parameter ignoredHeaders: The names, in lower case, of fields that are not compared.
    func identity(of request: HTTPRequest, ignoring ignoredHeaders: Set<String>) -> RequestIdentity? {
        guard mayShare else { return nil }
        return RequestIdentity(
            request, of: options.kind, to: options.download, identifiedBy: options.duplicateIdentifier,
            ignoring: ignoredHeaders, in: options.environment, keepingCredentialInside: credentialScope, besides: cookies)
    }

    /// The job of a resumable upload; `nil` for any other request, and for a new request of a loader.
    var upload: UploadJob? {
        // Not inlined: the frame of the caller would have room for the options.
        @inline(never) get { options.upload }
    }

    /// Returns the context of a step of a resumable upload, with the credential that its origin gets.
    /// - Parameters:
    ///   - origin: The origin of the step's URL.
    ///   - creation: The caller's request. A trusted origin gets the manager's credential only if this request does.
    func forStep(at origin: UploadOrigin, of creation: HTTPRequest) -> CallContext {
        var options = options
        switch (origin, options.authentication) {
        case (.other, _): options.authentication = .none
        case (.trusted, .inherited) where authentication(for: creation) != nil: options.authentication = .environment
        default: return self
        }
        var context = self
        context.box.change { [options] in $0.options = CopyOnWriteBox(options) }
        return context
    }

    /// Returns the context for a request that replaces the caller's: the caller's validators, sink and decoder apply to its response.
    /// Errors still name the caller's request.
    func acceptingReplacement(_ request: HTTPRequest) -> CallContext {
        var context = self
        context.box.change { $0.requestID = request.id }
        return context
    }

    /// Returns the context of a request that continues in a separate call, without its caller. The caller's validators, retry policy,
    /// listeners and sink do not apply.
    func inSeparateCall(_ request: HTTPRequest, clock: PipelineClock) -> CallContext {
        var options = options
        options.validators = []
        options.retryControl = nil
        options.parseError = nil
        options.listeners = nil
        options.sink = nil
        // Otherwise the handler of duplicates would decide about a request that no caller made.
        options.duplicateIdentifier = nil
        options.overrides = call.options.overrides
        options.execution = .promiseAboveFlights
        let separateCall = Call(.success(request), options, clock: clock)
        var context = self
        context.box.change { fields in
            fields.call = separateCall
            fields.request = request
            fields.options = separateCall.boxedOptions
            fields.isLoaderMade = false
        }
        return context
    }

    /// Returns the context of a request that a loader passes on: the one that it was given, or one that it made. The call's environment
    /// applies to a request that the loader made, and its attempts and bytes count toward the call. The caller's validators, sink and kind
    /// do not apply.
    func passing(_ request: HTTPRequest) -> CallContext {
        if request.id == requestID { return self }
        var context = self
        context.box.change { fields in
            fields.request = request.inheriting(from: call.request)
            fields.options = CopyOnWriteBox(call.options.forLoaderMadeRequest)
            fields.isLoaderMade = true
            fields.requestID = request.id
            fields.credentialScope = nil
            fields.cookies = nil
        }
        return context
    }
}
