import Foundation

/// Tells the caller's closures of interim responses and heads as they arrive. It is below the observers, who see the error of a closure.
struct ListenToHeads: OptionalStage {
    func isNeeded(by request: HTTPRequest, in context: CallContext) -> Bool { context.call.choices.listeners?.hearsHeads == true }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let call = next.context.call
        guard let listeners = call.choices.listeners else { return try await next(request) }
        // The closures run while the transport delivers. Their error has to end an operation that runs elsewhere, so it gets a promise.
        let response = Promise<HTTPResponse>()
        let activity = HeadActivity(listeners, call, of: response, passingOn: next.context.activity)
        let context = next.context.with { $0.activity = activity }
        response.start { try await next(request, in: context) }
        return try await response.value
    }
}

/// Calls a caller's closures for the heads of the exchanges, until the request has ended, and passes all events on.
private final class HeadActivity: RequestActivity {
    private let listeners: RequestListeners
    private let call: Call
    private let response: Promise<HTTPResponse>
    private let wrapped: (any RequestActivity)?

    init(_ listeners: RequestListeners, _ call: Call, of response: Promise<HTTPResponse>, passingOn wrapped: (any RequestActivity)?) {
        self.listeners = listeners
        self.call = call
        self.response = response
        self.wrapped = wrapped
    }

    func requestDidStart(attempt: Int) { wrapped?.requestDidStart(attempt: attempt) }
    func requestDidSend(bytes: Int64, of total: Int64?) { wrapped?.requestDidSend(bytes: bytes, of: total) }
    func requestDidMeasure(_ connection: ConnectionMetrics) { wrapped?.requestDidMeasure(connection) }
    func requestDidReceive(bytes: Int64, of total: Int64?) { wrapped?.requestDidReceive(bytes: bytes, of: total) }
    func requestDidHoldBack(_ isHeldBack: Bool) { wrapped?.requestDidHoldBack(isHeldBack) }

    /// True once the request has ended. A drop counts at once, even if the task that waits for `response` has not noticed it yet.
    private var isOver: Bool { response.isCompleted || call.tracker.isDropped }

    func requestDidReceiveInterim(_ head: ReceivedHead) {
        wrapped?.requestDidReceiveInterim(head)
        for listener in listeners.interim where !isOver { listener(call.shown(head.response)) }
    }

    func requestDidReceiveHead(_ head: ReceivedHead) {
        wrapped?.requestDidReceiveHead(head)
        do {
            for listener in listeners.head where !isOver { try listener(call.shown(head.response)) }
        } catch {
            response.drop(becauseOf: error)
        }
    }
}
