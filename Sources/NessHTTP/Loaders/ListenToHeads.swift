import Foundation

/// Tells the caller's closures of interim responses and heads as they arrive. It is below the observers, who see the error of a closure.
struct ListenToHeads: OptionalStage {
    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { context.call.choices.listeners?.hearsHeads == true }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let call = next.context.call
        guard let listeners = call.choices.listeners else { return try await next(request) }
        // The closures run while the transport delivers. Their error has to end an operation that runs elsewhere, so it gets a promise.
        let response = Promise<HTTPResponse>()
        let activity = HeadActivity(listeners, call, passingOn: next.context.activity) { response.drop(becauseOf: $0) }
        let context = next.context.with { $0.activity = activity }
        response.start { try await next(request, in: context) }
        return try await response.value
    }
}

/// Calls a caller's closures for the heads of an exchange, and passes all events on.
private final class HeadActivity: RequestActivity {
    private let listeners: RequestListeners
    private let call: Call
    private let wrapped: (any RequestActivity)?
    private let drop: @Sendable (any Error) -> Void
    /// True between the event of a head, when the response is not yet there to be read, and the first event of its body.
    private let awaitsHead = Lock(false)

    init(
        _ listeners: RequestListeners, _ call: Call, passingOn wrapped: (any RequestActivity)?,
        drop: @escaping @Sendable (any Error) -> Void
    ) {
        self.listeners = listeners
        self.call = call
        self.wrapped = wrapped
        self.drop = drop
    }

    func requestDidStart(attempt: Int) { wrapped?.requestDidStart(attempt: attempt) }
    func requestDidSend(bytes: Int64, of total: Int64?) { wrapped?.requestDidSend(bytes: bytes, of: total) }
    func requestDidMeasure(_ connection: ConnectionMetrics) { wrapped?.requestDidMeasure(connection) }
    func requestDidHoldBack(_ isHeldBack: Bool) { wrapped?.requestDidHoldBack(isHeldBack) }

    func requestDidReceiveInterim(statusCode: Int, headers: HTTPHeaders) {
        wrapped?.requestDidReceiveInterim(statusCode: statusCode, headers: headers)
        if listeners.interim.isEmpty { return }
        let response = HTTPResponse(statusCode: statusCode, headers: headers, request: call.request)
        for listener in listeners.interim { listener(response) }
    }

    func requestDidReceiveHead(statusCode: Int) {
        wrapped?.requestDidReceiveHead(statusCode: statusCode)
        awaitsHead.withLock { $0 = true }
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        wrapped?.requestDidReceive(bytes: bytes, of: total)
        let isFirst = awaitsHead.withLock { awaitsHead in
            defer { awaitsHead = false }
            return awaitsHead
        }
        guard isFirst, !listeners.head.isEmpty, var head = call.responseSoFar else { return }
        // A caller who joined a shared exchange late may find a part of the body.
        head.body = Data()
        do {
            for listener in listeners.head { try listener(head) }
        } catch {
            drop(error)
        }
    }
}
