import Dispatch
import NessLock

/// Notifies the manager's observers about one request, and measures it.
///
/// Events come from the request's task and from the transport. Observers get them one at a time. They receive no event after the end,
/// although a loader that ignores a drop may still cause some. At the end the observation releases the observers, so a stored request does
/// not keep them alive.
final class Observation: Sendable {
    private struct State: Sendable {
        var observers: [any RequestObserver]
        var hasBegun = false
        var hasToldStart = false
        var hasEnded = false
        /// The request of the current attempt.
        var sent: HTTPRequest?
        /// The time at which the current attempt was ready to be sent; `nil` once its first exchange has started.
        var readyAt: Duration?
        var exchangeAt: Duration?
        /// The number of body bytes that the exchange had sent at its last report.
        var sentBytes: Int64 = 0
        /// The number of body bytes at the last report: those of the exchange, or for a download those of the whole file.
        var receivedBytes: Int64? = 0
        var metrics = RequestMetrics()

        mutating func endQueueTime(at now: Duration) {
            if let readyAt { metrics.queueTime += now - readyAt }
            readyAt = nil
        }
    }

    private let state: Lock<State>
    private let calls = SerialRunner()
    private let clock: PipelineClock
    private let start: Duration
    private let isDownload: Bool

    init(_ observers: [any RequestObserver], isDownload: Bool, clock: PipelineClock) {
        self.isDownload = isDownload
        // Bytes that an earlier run saved do not count as received.
        state = Lock(State(observers: observers, receivedBytes: isDownload ? nil : 0))
        self.clock = clock
        start = clock.elapsed()
    }

    /// Notifies the observers of the start, once. Without a start, they are not notified of the end.
    func begin(_ request: HTTPRequest) {
        let isOver = state.withLock { state in
            if !state.hasEnded { state.hasBegun = true }
            return state.hasEnded
        }
        if !isOver { calls.run { [self] in tellStart(request) } }
    }

    /// Notifies the observers of the start, unless a drop or a pause that arrived at the same time has done so.
    private func tellStart(_ request: HTTPRequest) {
        let observers = state.withLock { state in
            defer { state.hasToldStart = true }
            return state.hasToldStart ? [] : state.observers
        }
        for observer in observers { observer.requestDidStart(request) }
    }

    /// Notifies every observer.
    func notify(_ event: @escaping @Sendable (any RequestObserver) -> Void) {
        calls.run { [self] in
            for observer in state.withLock({ $0.observers }) { event(observer) }
        }
    }

    /// Notifies the observers that an attempt is ready to be sent.
    func willSend(_ request: HTTPRequest) {
        let now = clock.elapsed()
        state.withLock { state in
            guard !state.observers.isEmpty else { return }
            state.sent = request
            state.readyAt = now
        }
        notify { $0.requestWillSend(request) }
    }

    /// Ends the queue time of an attempt that has ended or is paused, perhaps before it reached the wire.
    func attemptDidEnd() {
        let now = clock.elapsed()
        state.withLock { $0.endQueueTime(at: now) }
    }

    /// Notifies the observers of the outcome. Called once.
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - outcome: The outcome.
    ///   - attempts: The number of attempts that reached the wire.
    ///   - isDrop: True on the thread of a drop, which may be the main thread. The observers are then notified on another thread.
    func end(_ request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>, attempts: Int, isDrop: Bool = false) {
        let now = clock.elapsed()
        // Without a start the observers hear nothing, and are released outside the lock.
        let (metrics, hasBegun, _) = state.withLock { state in
            defer { if !state.hasBegun { state.observers = [] } }
            state.sent = nil
            state.metrics.outcome = outcome
            state.metrics.attempts = attempts
            state.metrics.total = now - start
            state.endQueueTime(at: now)
            state.hasEnded = true
            return (state.metrics, state.hasBegun, state.observers)
        }
        guard hasBegun else { return }
        // One closure makes all final calls. An event of code that is still running comes before all of them, or is discarded.
        let tell: @Sendable () -> Void = { [self] in
            tellStart(request)
            let observers = state.withLock { $0.observers }
            for observer in observers {
                switch outcome {
                case .success(let response): observer.requestDidSucceed(request, with: response)
                case .failure(let error): observer.requestDidFail(request, with: error)
                }
            }
            for observer in observers { observer.requestDidCollect(metrics, of: request) }
            for observer in observers { observer.requestDidEnd(request) }
            state.withLock { $0.observers = [] }
        }
        if isDrop { DispatchQueue.global().async { [calls] in calls.run(tell) } } else { calls.run(tell) }
    }

    // MARK: events on the wire

    /// Takes an event of an exchange.
    func report(_ event: ExchangeEvent) {
        let now = clock.elapsed()
        switch event {
        case .began: begin(at: now)
        case .sent(let bytes, _):
            state.withLock { state in
                state.metrics.bytesSent += max(0, bytes - state.sentBytes)
                state.sentBytes = bytes
            }
        case .connection(let connection): state.withLock { $0.metrics.connections.append(connection) }
        case .waitsForNetwork:
            if let request = state.withLock({ $0.sent }) { notify { $0.requestIsWaitingForNetwork(request) } }
        case .interim(let head):
            guard let request = state.withLock({ $0.sent }) else { return }
            let response = HTTPResponse(statusCode: head.statusCode, headers: head.headers, request: request)
            notify { $0.requestDidReceiveInterim(response, to: request) }
        case .head: receiveHead(at: now)
        case .received(let bytes, _): receive(bytes)
        }
    }

    private func begin(at now: Duration) {
        let request = state.withLock { state in
            state.metrics.timeToFirstByte = nil
            state.metrics.exchanges += 1
            state.sentBytes = 0
            if !isDownload { state.receivedBytes = 0 }
            state.endQueueTime(at: now)
            state.exchangeAt = now
            return state.sent
        }
        if let request { notify { $0.requestDidBeginExchange(request) } }
    }

    private func receiveHead(at now: Duration) {
        let request = state.withLock { state in
            state.metrics.timeToFirstByte = state.exchangeAt.map { now - $0 }
            return state.sent
        }
        if let request { notify { $0.requestDidReceiveHead(request) } }
    }

    private func receive(_ bytes: Int64) {
        state.withLock { state in
            if let before = state.receivedBytes { state.metrics.bytesReceived += max(0, bytes - before) }
            state.receivedBytes = bytes
        }
    }
}
