/// Tells the manager's observers of a request from its start to its end.
struct Observe: HTTPLoader {
    let observers: [any RequestObserver]

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        guard !observers.isEmpty else { return try await next(request) }
        for observer in observers { observer.requestDidStart(request) }
        defer { for observer in observers { observer.requestDidEnd(request) } }
        do {
            let response = try await next(request)
            for observer in observers { observer.requestDidSucceed(request, with: response) }
            return response
        } catch {
            let sent = (request.activity as? AttemptCounter)?.attempts ?? request.attempt
            let error = NessError.explain(error, request, attempts: sent)
            for observer in observers { observer.requestDidFail(request, with: error) }
            throw error
        }
    }
}
