import Foundation
import NessLock
import NessPromise

/// Resolves the URL against the environment's base URL, and adds the default headers and the delegate's changes.
///
/// It runs for each attempt, and starts from the request as the caller made it.
final class RequestPreparation: Sendable {
    /// The delegate's methods.
    struct Hooks: Sendable {
        /// Returns the request to send.
        let willRequest: @Sendable (HTTPRequest) -> HTTPRequest
        /// Notifies the delegate of the request that will be sent.
        let didRequest: @Sendable (HTTPRequest) -> Void
    }

    /// Returns the delegate's methods; `nil` if the manager has no delegate, or if the delegate or the manager was released.
    let hooks: @Sendable () -> Hooks?
    /// True once a request outside the base URL has been reported.
    private let hasWarned = Lock(false)

    init(hooks: @escaping @Sendable () -> Hooks?) { self.hooks = hooks }

    /// Returns the request of an attempt.
    @inline(never)
    func prepared(_ request: HTTPRequest, in context: CallContext) throws -> HTTPRequest {
        let environment = context.options.environment
        var request = request
        try Self.resolve(&request, against: environment.baseURL)
        warnIfNeeded(about: request, in: context)
        let added = environment.headers(for: request)
        request.add(added)
        if let hooks = hooks() {
            request = hooks.willRequest(request)
            try Self.resolve(&request, against: environment.baseURL)
            environment.removeStrayed(added, from: &request)
            hooks.didRequest(request)
        }
        context.call.observation?.willSend(request)
        return request
    }

    /// Warns, once for each manager, of a path with a leading slash that leaves the base URL. It is easily written by mistake, and then the
    /// missing credential is hard to explain.
    private func warnIfNeeded(about request: HTTPRequest, in context: CallContext) {
        guard context.options.leavesBaseURL, let observation = context.call.observation,
            let baseURL = context.options.environment.baseURL
        else { return }
        let isFirst = hasWarned.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
        guard isFirst else { return }
        let base = request.redactor.redacted(baseURL)
        let warning =
            "the path has a leading slash, so the URL is outside the base URL \(base), to which the manager's credential belongs; "
            + "without the slash it is inside (reported once)"
        observation.notify { $0.requestDidWarn(warning, about: request) }
    }

    private static func resolve(_ request: inout HTTPRequest, against baseURL: URL?) throws {
        if request.target != nil { return }
        let url = request.url
        do {
            // Usually the builder has already resolved the URL.
            let isResolved = url.namesScheme && url.baseURL == nil
            let resolved = (isResolved ? url : try url.resolved(against: baseURL)).removingDotSegments
            if resolved != url || !isResolved { request.url = resolved }
        } catch {
            throw NessError(.invalidRequest, NessError.Context(request: request, reason: "\(error)"))
        }
    }
}
