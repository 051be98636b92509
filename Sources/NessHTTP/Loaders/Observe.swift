/// Notifies the manager's observers about a request, from its start to its end.
struct Observe: OptionalStage {
    /// Returns the manager's current observers.
    let observers: @Sendable () -> [any RequestObserver]
    let clock: PipelineClock

    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool {
        context.call.choices.own?.observers.isEmpty == false || !observers().isEmpty
    }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let call = next.context.call
        let observation = Observation(observers() + (call.choices.own?.observers ?? []), of: call, clock: clock)
        let context = next.context.with { additions in
            additions.observation = observation
            additions.activity = observation
            additions.validators.insert(ObserverVerdict(observation: observation, request: request), at: 0)
        }
        observation.notify { $0.requestDidStart(request) }
        // A drop settles the promise without waiting for the operation, so a loader that ignores cancellation cannot delay the end.
        let response = Promise {
            let response = try await next(request, in: context)
            try call.choices.parse?(response)
            return response
        }
        let outcome: Result<HTTPResponse, any Error>
        // A stream whose reader stopped early has succeeded.
        func head() -> HTTPResponse? { call.tracker.isLeft ? call.tracker.response : nil }
        do {
            let response = try await response.value
            if Task.isCancelled || call.tracker.isDropped { throw CancellationError() }
            outcome = .success(response)
        } catch {
            outcome = head().map(Result.success) ?? .failure(call.explainFinally(error))
        }
        observation.end(request, outcome)
        return try outcome.get()
    }
}
