/// The options of a call that are not part of its request.
struct CallOptions: Sendable {
    /// The kind of result. Only requests of one kind can be duplicates.
    var kind = RequestKind.data
    /// The groups that the request belongs to: see `Ness.dropAllRequests(in:)`.
    var groups: Set<String> = []
    /// The base URL, default headers and authentication at the time when the request started.
    var environment = ServerEnvironment()
    /// True if the caller's URL is a path with a leading slash, and so lies outside the base URL.
    var leavesBaseURL = false
    /// The caller's validators, in order.
    var validators: [any ResponseValidator] = []
    /// The request's retry policy; `nil` for the manager's.
    var retryControl: (any RetryControl)?
    /// The source of the request's credential.
    var authentication = AuthenticationChoice.inherited
    /// The identifier that makes requests equal; `nil` compares method, URL, header fields and body.
    var duplicateIdentifier: String?
    /// The request's own loaders and observers; `nil` for none.
    var overrides: RequestOverrides?
    /// The number of resets and shutdowns before the call was made; `nil` after a shutdown, and for a call that no manager made.
    var epoch: Int?
    /// The destination of a download; `nil` for any other kind.
    var download: DownloadTarget?
    /// The job of a resumable upload; `nil` for any other request.
    var upload: UploadJob?
    /// Takes the response's body as it arrives; `nil` to collect the body in memory.
    var sink: (any BodySink)?
    /// The closures that receive events of the request while it runs; `nil` for none.
    var listeners: RequestListeners?
    /// Decodes the API's own errors; `nil` for no such errors.
    var parseError: ErrorReader?
    /// The tasks that run the call.
    var execution = Execution.promiseAboveFlights
}

/// Decodes an API's own error from a rejected response. Returns `nil` if the response holds none.
typealias ErrorReader = @Sendable (HTTPResponse) -> (any Error)?

extension CallOptions {
    /// The options of a request that a custom loader makes on behalf of the call, such as a login: the caller's validators,
    /// sink, kind and retry policy do not apply to it.
    var forLoaderMadeRequest: CallOptions {
        var options = CallOptions()
        options.environment = environment
        options.epoch = epoch
        options.groups = groups
        return options
    }
}
