import Foundation

/// Methods that send the request. Each call immediately sends a separate request, even if the caller does not keep the promise.
extension RequestBuilder {
    /// Sends the request and keeps the whole response in memory.
    ///
    /// A response with any status is a result, unless a validator rejects it.
    /// - Returns: A promise of the response. It fails with `NessError`, or with an error that a custom loader threw.
    @discardableResult
    public func dataRequest() -> DataPromise {
        DataPromise(makeCall(.data), by: sender) { DataResult(message: $0) }
    }

    /// Sends the request and waits for its value: in the calling task, unless `Execution` chooses another.
    /// - Parameter make: Makes the value from the response.
    func awaited<Value: Sendable>(_ make: @escaping @Sendable (HTTPResponse) throws -> Value) async throws -> Value {
        let call = makeCall(.data, isAwaited: true)
        guard call.options.execution == .caller else { return try await RequestPromise(call, by: sender, value: make).value }
        return try await AwaitedResult(call, value: make).run(by: sender)
    }

    /// The work that this request's steps above its flights do: see `Execution.Steps`.
    private func steps(of kind: RequestKind, in environment: ServerEnvironment) -> Execution.Steps {
        let hasSteps = retryControl != nil || overrides?.loaders.areAboveSharing == true
        let authenticates =
            switch authentication {
            case .none: false
            case .given: true
            case .inherited, .environment: environment.authentication != nil
            }
        return Execution.Steps(continueAfterFlights: hasSteps || kind.isPausable, awaitApplication: hasSteps || authenticates)
    }

    /// Makes the call that this builder describes.
    /// - Parameters:
    ///   - kind: The kind of result.
    ///   - isAwaited: True for a caller who awaits the call, and needs no promise.
    ///   - change: Adds the options that only this kind of request has.
    func makeCall(
        _ kind: RequestKind, isAwaited: Bool = false, _ change: (inout CallOptions) -> Void = { _ in }
    ) -> Call {
        // Read once, so that a switch of environments at this moment cannot mix two of them.
        let environment = environment ?? sender.environment
        var options = CallOptions()
        options.kind = kind
        options.groups = groups
        options.environment = environment
        let managers = sender.defaults.validators
        options.validators = managers.isEmpty ? validators : managers + validators
        options.retryControl = retryControl
        options.authentication = authentication
        options.duplicateIdentifier = duplicateIdentifier
        options.overrides = overrides
        options.epoch = sender.pipeline.running.epoch
        options.listeners = listeners
        options.parseError = errorReader
        options.execution = Execution(isAwaited: isAwaited, sender.pipeline.steps + steps(of: kind, in: environment))
        change(&options)
        let request = Result { try build(in: environment) }
        if hasRootedPath, let url = try? request.get().url { options.leavesBaseURL = environment.baseURL?.contains(url) == false }
        let call = Call(request, options, observers: sender.observers + (overrides?.observers ?? []), clock: pipelineClock)
        for listener in listeners?.progress ?? [] { call.listen(listener, atEnd: nil) }
        return call
    }
}
