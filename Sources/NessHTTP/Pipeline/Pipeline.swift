/// The stages in their order, outermost first. This array is the order; nothing else knows it.
struct Pipeline: Sendable {
    let stages: [any HTTPLoader]

    /// The pipeline of a manager.
    /// - Parameters:
    ///   - configuration: What the manager was given.
    ///   - environment: Adds what the manager has for all its requests.
    init(_ configuration: Ness.Configuration, environment: Environment) {
        let clock = Timekeeper(configuration.clock)
        stages =
            [
                Deadline(clock: clock),
                environment,
            ] + configuration.loaders + [
                Redirect(),
                OutgoingCheck(),
                HostQueue(limit: configuration.maximumConnectionsPerHost),
                UnaskedTimeout(),
                IdleTimeout(clock: clock),
                Exchange(transport: configuration.transport, maximumBytes: configuration.maximumResponseBytes),
            ]
    }

    /// Sends a request through all stages.
    func load(_ request: HTTPRequest) async throws -> HTTPResponse { try await load(request, from: 0) }

    private func load(_ request: HTTPRequest, from index: Int) async throws -> HTTPResponse {
        guard index < stages.count else { throw TransportError(.invalidRequest, "the pipeline has no transport") }
        return try await stages[index].load(request, next: HTTPNext { try await load($0, from: index + 1) })
    }
}
