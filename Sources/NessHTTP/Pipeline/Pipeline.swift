/// A chain of stages, outermost first.
struct Pipeline: Sendable {
    private let first: Step

    /// One stage, and the stage below it.
    final class Step: Sendable {
        let loader: any HTTPLoader
        let next: Step?
        private let optional: (any OptionalStage)?

        init(_ loader: any HTTPLoader, next: Step?) {
            self.loader = loader
            self.next = next
            optional = loader as? any OptionalStage
        }

        /// Returns `true` if a request has to pass this stage.
        func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool {
            optional?.isNeeded(by: request, in: context) ?? true
        }
    }

    /// Makes a pipeline.
    /// - Parameters:
    ///   - stages: The stages, outermost first.
    ///   - exchange: The last stage, which has nothing below it.
    init(_ stages: [any HTTPLoader], exchange: any HTTPLoader) {
        first = stages.reversed().reduce(Step(exchange, next: nil)) { Step($1, next: $0) }
    }

    /// Discards the state that the stages keep between requests.
    func reset() async {
        var step: Step? = first
        while let present = step {
            await present.loader.reset()
            step = present.next
        }
    }

    /// Sends a call's request through all stages.
    func load(_ call: Call) async throws -> HTTPResponse {
        try await HTTPNext(first, in: CallContext(call))(call.request)
    }
}

/// A stage of the library that many requests do not need. The pipeline skips it for them at no cost.
protocol OptionalStage: HTTPLoader {
    /// Returns `true` if a request has to pass this stage.
    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool
}
