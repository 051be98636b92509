import Foundation

/// Methods that send the request. Each call immediately sends a separate request, even if the caller does not keep the promise.
extension RequestBuilder {
    /// Sends the request and keeps the whole response in memory.
    ///
    /// A response with any status is a result, unless a validator rejects it.
    /// - Parameter retryControl: The retry policy; `nil` for that of `set(retry:)`, else the manager's; `.never` for no retries.
    /// - Returns: A promise of the response. It fails with `NessError`, or with an error that a custom loader threw.
    @discardableResult
    public func dataRequest(with retryControl: (any RetryControl)? = nil) -> DataPromise {
        DataPromise(makeCall(.data, with: retryControl), by: sender) { DataResult(message: $0) }
    }

    /// Sends the request and waits for its value: in the calling task, unless code of the application is awaited on the way, which may
    /// ignore the end of the call.
    /// - Parameter make: Makes the value from the response.
    func awaited<Value: Sendable>(_ make: @escaping @Sendable (HTTPResponse) throws -> Value) async throws -> Value {
        let awaitsApplication = awaitsApplication
        let call = makeCall(.data) { $0.isAwaited = !awaitsApplication }
        if awaitsApplication { return try await RequestPromise(call, by: sender, value: make).value }
        return try await AwaitedResult(call, value: make).run(by: sender)
    }

    private var awaitsApplication: Bool {
        if sender.awaitsApplication || retryControl != nil { return true }
        if overrides?.loaders.areAboveSharing == true { return true }
        switch authentication {
        case .none: return false
        case .given: return true
        case .inherited, .environment: return (environment ?? sender.environment).authentication != nil
        }
    }

    /// Makes the call that this builder describes.
    /// - Parameters:
    ///   - kind: The kind of result.
    ///   - retryControl: The retry policy; `nil` for that of `set(retry:)`, else the manager's; `.never` for no retries.
    ///   - change: Adds the options that only this kind of request has.
    func makeCall(
        _ kind: RequestKind, with retryControl: (any RetryControl)? = nil, _ change: (inout CallOptions) -> Void = { _ in }
    ) -> Call {
        // Read once, so that a switch of environments at this moment cannot mix two of them.
        let environment = environment ?? sender.environment
        var options = CallOptions()
        options.kind = kind
        options.groups = groups
        options.environment = environment
        let managers = sender.defaults.validators
        options.validators = managers.isEmpty ? validators : managers + validators
        options.retryControl = retryControl ?? self.retryControl
        options.authentication = authentication
        options.duplicateIdentifier = duplicateIdentifier
        options.overrides = overrides
        options.epoch = sender.running.epoch
        options.listeners = listeners
        options.parseError = errorReader
        change(&options)
        let request = Result { try build(in: environment) }
        if hasRootedPath, let url = try? request.get().url { options.leavesBaseURL = environment.baseURL?.contains(url) == false }
        let call = Call(
            request, options, observers: sender.observers + (overrides?.observers ?? []), clock: sender.pipelineClock)
        for listener in listeners?.progress ?? [] { call.listen(listener, atEnd: nil) }
        return call
    }
}
