import Foundation

/// Sends the request. Each call sends a request of its own at once, whether or not the caller keeps the promise.
extension RequestBuilder {
    /// Sends the request, and collects the whole response in memory.
    ///
    /// A response with any status is a result, unless a validator refuses it.
    /// - Parameter retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's,
    ///   `.never` for none.
    /// - Returns: A promise of the response. It fails with `NessError`, or with the error that a loader of the application threw.
    @discardableResult
    public func dataRequest(with retryControl: (any RetryControl)? = nil) -> DataPromise {
        DataPromise(prepared(.data, retryControl), running: sender.running) { [sender] call in
            try await sender.perform(call)
        } value: { response in
            DataResult(message: response)
        }
    }

    /// Makes the call that this builder describes.
    /// - Parameters:
    ///   - kind: The kind of result.
    ///   - retryControl: The control that decides on further attempts; `nil` for that of `set(retry:)` or else the manager's, `.never` for
    ///     none.
    ///   - change: Adds the choices that only this kind of request has.
    func prepared(
        _ kind: RequestKind, _ retryControl: (any RetryControl)?, _ change: (inout Call.Choices) -> Void = { _ in }
    ) -> PreparedCall {
        let tracker = RequestTracker(sender.pipelineClock, kind: kind)
        for listener in listeners?.progress ?? [] { tracker.listen(listener, atEnd: nil) }
        let call = Result {
            // Read once, so that a switch of environments at this moment cannot mix two of them.
            let environment = environment ?? sender.environment
            var choices = Call.Choices()
            choices.kind = kind
            choices.groups = groups
            choices.environment = environment
            choices.validators = validators
            choices.jsonDecoder = sender.defaults.jsonDecoder
            choices.retryControl = retryControl ?? self.retryControl
            choices.authentication = authentication
            choices.duplicateIdentifier = duplicateIdentifier
            choices.own = own
            choices.epoch = sender.running.epoch
            choices.listeners = listeners
            change(&choices)
            let request = try build(in: environment)
            choices.leavesBaseURL = hasRootedPath && environment.baseURL?.contains(request.url) == false
            return Call(request, choices, tracker: tracker)
        }
        return PreparedCall(call: call, tracker: tracker, groups: groups)
    }
}
