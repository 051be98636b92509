import NessPromise

extension NessError {
    /// The error that a caller sees. What a caller's own loader throws passes as it is.
    /// - Parameters:
    ///   - error: What was thrown below.
    ///   - request: The request as the caller made it.
    ///   - attempts: How often it was sent.
    static func explain(_ error: any Error, _ request: HTTPRequest, attempts: Int) -> any Error {
        switch error {
        case is CancellationError, PromiseError.dropped:
            return NessError.dropped(Context(request: request, attempts: attempts, reason: "dropped by the caller"))
        case let error as TransportError:
            // What a caller has to know before sending it again.
            let isOpen = error.kind == .connectionLost && !request.isIdempotent
            let reason = isOpen ? error.reason + "; the server may have acted on the request" : error.reason
            return NessError(
                error,
                Context(request: request, response: error.response, attempts: attempts, reason: reason, underlying: error.underlying))
        case let error as FileFailure:
            return NessError.fileSystem(
                Context(request: request, attempts: attempts, reason: error.description, underlying: error))
        case let error as NessError:
            return error
        default: return error
        }
    }

    private init(_ error: TransportError, _ context: Context) {
        switch error.kind {
        case .invalidRequest: self = .invalidRequest(context)
        case .offline: self = .offline(context)
        case .cannotConnect: self = .cannotConnect(context)
        case .timedOut: self = .timedOut(context)
        case .tls: self = .tls(context)
        case .connectionLost: self = .connectionLost(context)
        case .truncated: self = .truncated(context)
        case .malformedResponse: self = .malformedResponse(context)
        }
    }
}
