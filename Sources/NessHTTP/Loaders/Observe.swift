/// Tells the manager's observers of a request from its start to its end.
struct Observe: OptionalStage {
    /// The manager's observers at the moment.
    let observers: @Sendable () -> [any RequestObserver]
    let clock: Timekeeper

    func isNeeded(by request: HTTPRequest) -> Bool { !observers().isEmpty }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let observation = Observation(observers(), of: request, clock: clock)
        var watched = request
        watched.change { fields in
            fields.observation = observation
            fields.activity = observation
            fields.parse = nil
            fields.validators.insert(ObserverVerdict(observation: observation, request: request), at: 0)
        }
        observation.tell { $0.requestDidStart(request) }
        // Not waited for after a drop: a loader that takes no notice of it can't keep the end from being told.
        let response = Promise { [watched] in
            let response = try await next(watched)
            try request.parse?(response)
            return response
        }
        let outcome: Result<HTTPResponse, any Error>
        do {
            let response = try await response.value
            if Task.isCancelled || observation.isDropped { throw CancellationError() }
            outcome = .success(response)
        } catch {
            outcome = .failure(NessError.explain(error, request, attempts: observation.attempts))
        }
        observation.end(request, outcome)
        return try outcome.get()
    }
}
