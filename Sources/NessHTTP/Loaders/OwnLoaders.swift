/// Runs the loaders that a request brings, for every attempt, below the manager's own.
struct OwnLoaders: OptionalStage {
    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { context.call.choices.own?.loaders.isEmpty == false }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let loaders = next.context.call.choices.own?.loaders ?? []
        @Sendable func run(_ index: Int, _ request: HTTPRequest, _ context: CallContext) async throws -> HTTPResponse {
            guard index < loaders.count else { return try await next(request, in: context) }
            let rest = HTTPNext(in: context) { request, context in try await run(index + 1, request, context) }
            return try await loaders[index].load(request, next: rest)
        }
        return try await run(0, request, next.context)
    }
}
