import Foundation
import NessLock

/// Notifies the manager's observers about one request, and measures it.
///
/// Events come from the request's task and from the transport. Observers get them one at a time. They receive no event after the end,
/// although a loader that ignores a drop may still cause some. At the end the observation releases the observers, so a stored request does
/// not keep them alive.
final class Observation: Sendable {
    private typealias Calls = ObservationState.Calls

    private let state: Lock<ObservationState>
    /// The request as the caller made it.
    private let request: HTTPRequest
    private let clock: PipelineClock
    private let start: Duration
    private let isDownload: Bool

    init(_ observers: [any RequestObserver], of request: HTTPRequest, isDownload: Bool, clock: PipelineClock) {
        self.request = request
        self.isDownload = isDownload
        // Bytes that an earlier run saved do not count as received.
        state = Lock(ObservationState(observers: observers, receivedBytes: isDownload ? nil : 0))
        self.clock = clock
        start = clock.elapsed()
    }

    // MARK: the calls

    /// Changes the state, and calls a method of all observers. A thread that is making calls makes these as well. On the main thread,
    /// another one does.
    /// - Parameters:
    ///   - change: Returns the value for the calls; `nil` for no call.
    ///   - call: Calls the method of one observer. Without captures it costs no allocation.
    @inline(__always)
    private func notify<Value: Sendable>(
        _ change: (inout ObservationState) -> Value?, _ call: @escaping @Sendable (any RequestObserver, Value) -> Void
    ) {
        // A pause or a drop on the main thread may end an exchange there.
        let isOnMain = Thread.isMainThread
        var isElsewhere = false
        let turn: (Value, [any RequestObserver])? = state.withLock { state in
            guard !state.hasEnded, let value = change(&state) else { return nil }
            if isOnMain {
                isElsewhere = state.add { for observer in $0 { call(observer, value) } }
                return nil
            }
            guard let observers = state.takeTurn(orLater: { for observer in $0 { call(observer, value) } }) else { return nil }
            return (value, observers)
        }
        if isElsewhere { makeCallsElsewhere() }
        guard let (value, observers) = turn else { return }
        for observer in observers { call(observer, value) }
        makeCalls()
    }

    /// Makes the waiting calls until none is left.
    private func makeCalls() { while let (calls, observers) = state.withLock({ $0.next() }) { calls(observers) } }

    /// Makes the waiting calls on another thread.
    private func makeCallsElsewhere() { DispatchQueue.global().async { [self] in makeCalls() } }

    /// Notifies every observer. Before the start, the observers are notified after it.
    func notify(_ event: @escaping @Sendable (any RequestObserver) -> Void) {
        notify { state in
            if state.hasBegun { return event }
            state.early.append { $0.forEach(event) }
            return nil
        } _: { observer, event in
            event(observer)
        }
    }

    /// Notifies every observer on another thread: the calling one may be the main thread, or hold a lock of the application.
    func notifyElsewhere(_ event: @escaping @Sendable (any RequestObserver) -> Void) {
        let calls: Calls = { $0.forEach(event) }
        let hasTurn = state.withLock { state in
            if state.hasEnded { return false }
            if state.hasBegun { return state.add(calls) }
            state.early.append(calls)
            return false
        }
        if hasTurn { makeCallsElsewhere() }
    }

    /// Notifies the observers of the start, once. Without a start, they are not notified of the end.
    ///
    /// The task of the call calls this, with the task-local values of its caller. No call is made before, so this thread makes it.
    func begin() {
        notify { [request] state in
            if state.hasBegun { return nil }
            state.hasBegun = true
            (state.waiting, state.early) = (state.early, [])
            return request
        } _: { observer, request in
            observer.requestDidStart(request)
        }
    }

    /// Notifies the observers that an attempt is ready to be sent.
    /// - Parameter sent: The request of the attempt. A loader or the delegate may have made another one. For observers it belongs to the
    ///   caller's.
    func willSend(_ sent: HTTPRequest) {
        let (now, sent) = (clock.elapsed(), sent.observed(by: request))
        notify { state in
            state.sent = sent
            state.readyAt = now
            return sent
        } _: { observer, sent in
            observer.requestWillSend(sent)
        }
    }

    /// Notifies the observers that an attempt has its response.
    func didReceive(_ response: HTTPResponse, to request: HTTPRequest) {
        notify { _ in
            (response, request)
        } _: {
            $0.requestDidReceive($1.0, to: $1.1)
        }
    }

    /// Ends the queue time of an attempt that has ended or is paused, perhaps before it reached the wire.
    func attemptDidEnd() {
        let now = clock.elapsed()
        state.withLock { if !$0.hasEnded { $0.endQueueTime(at: now) } }
    }

    /// Notifies the observers of the outcome. Called once.
    /// - Parameters:
    ///   - outcome: The outcome.
    ///   - attempts: The number of attempts that started an exchange.
    ///   - isDrop: True on the thread of a drop, which may be the main thread or hold a lock of the application. The observers are then
    ///     notified on another thread.
    ///   - isOver: Runs when the observers were notified, or have nothing to be notified of.
    func end(
        _ outcome: Result<HTTPResponse, any Error>, attempts: Int, isDrop: Bool = false, _ isOver: @escaping @Sendable () -> Void = {}
    ) {
        let now = clock.elapsed()
        // After this, observers are notified of the end only. If the request never started, they are not notified at all. The returned
        // observers are released outside the lock.
        let (hasTurn, _): (Bool?, [any RequestObserver]) = state.withLock { state in
            let open = state.endAll(at: now, with: outcome)
            state.metrics.outcome = outcome
            state.metrics.attempts = attempts
            state.metrics.total = now - start
            state.endQueueTime(at: now)
            state.hasEnded = true
            if state.hasBegun { return (state.add(callsAtEnd(after: open, state.metrics, isOver)), []) }
            defer { (state.observers, state.early) = ([], []) }
            return (nil, state.observers)
        }
        switch hasTurn {
        case nil: isOver()
        case false?: break
        case true?: if isDrop || Thread.isMainThread { makeCallsElsewhere() } else { makeCalls() }
        }
    }

    private func callsAtEnd(after open: [Calls], _ metrics: RequestMetrics, _ isOver: @escaping @Sendable () -> Void) -> Calls {
        { [self] observers in
            for calls in open { calls(observers) }
            for observer in observers {
                switch metrics.outcome {
                case .success(let response): observer.requestDidSucceed(request, with: response)
                case .failure(let error): observer.requestDidFail(request, with: error)
                }
            }
            for observer in observers { observer.requestDidCollect(metrics, of: request) }
            for observer in observers { observer.requestDidEnd(request) }
            state.replace(\.observers, with: [])
            isOver()
        }
    }

    // MARK: waits

    /// Notifies the observers that the request starts the refresh of its credential.
    func willRefresh() { notify { [request] in $0.requestWillRefresh(request) } }

    /// Notifies the observers that the request waits.
    func wait(at place: WaitingPlace) {
        let now = clock.elapsed()
        notify { state in
            guard let request = state.sent else { return nil }
            state.waits.append((place, now, request))
            return (request, place)
        } _: { (observer, wait: (HTTPRequest, WaitingPlace)) in
            observer.requestWillWait(wait.0, at: wait.1)
        }
    }

    /// Notifies the observers that a wait has ended.
    func endWait(at place: WaitingPlace) {
        let now = clock.elapsed()
        notify { state in
            state.endWait(at: place, at: now).map { ($0, place, $1) }
        } _: { (observer, wait: (HTTPRequest, WaitingPlace, Duration)) in
            observer.requestDidWait(wait.0, at: wait.1, for: wait.2)
        }
    }

    // MARK: events on the wire

    /// Takes an event of an exchange.
    /// - Parameter isJoined: True if another caller has started the exchange.
    func report(_ event: ExchangeEvent, isJoined: Bool) {
        switch event {
        case .waits(let place): wait(at: place)
        case .waited(let place): endWait(at: place)
        case .began(var exchange):
            (exchange.isJoined, exchange.start) = (isJoined, clock.elapsed())
            begin(exchange)
        case .sent(let bytes, _):
            state.withLock { state in
                if state.hasEnded { return }
                state.metrics.bytesSent = state.metrics.bytesSent.saturatingAdd(max(0, bytes - state.sentBytes))
                state.sentBytes = bytes
            }
        case .connection(let connection): state.withLock { if !$0.hasEnded { $0.metrics.connections.append(connection) } }
        case .waitsForNetwork:
            if let request = state.withLock({ $0.sent }) { notify { $0.requestIsWaitingForNetwork(request) } }
        case .interim(let head):
            guard let request = state.withLock({ $0.sent }) else { return }
            let response = HTTPResponse(statusCode: head.statusCode, headers: head.headers, request: request)
            notify { $0.requestDidReceiveInterim(response, to: request) }
        case .head(let head): receive(head)
        case .received(let bytes, _): receive(bytes)
        case .ended(let exchange, let outcome): end(exchange, with: outcome)
        }
    }

    private func begin(_ exchange: RequestExchange) {
        notify { state in
            state.metrics.timeToFirstByte = nil
            state.metrics.exchanges += 1
            state.sentBytes = 0
            if !isDownload { state.receivedBytes = 0 }
            state.endQueueTime(at: exchange.start)
            state.exchangeAt = exchange.start
            guard let request = state.sent else { return nil }
            state.exchanges.append((exchange, request))
            return (exchange, request)
        } _: { (observer, begin: (RequestExchange, HTTPRequest)) in
            observer.requestDidBeginExchange(begin.0, of: begin.1)
        }
    }

    private func receive(_ head: ReceivedHead) {
        let now = clock.elapsed()
        notify { state in
            state.metrics.timeToFirstByte = state.exchangeAt.map { now - $0 }
            guard let (exchange, request) = state.exchanges.first(where: { $0.exchange.id == head.exchange.id }) else { return nil }
            var response = head.response
            response.request = exchange.request
            return (response, exchange, request)
        } _: { (observer, received: (HTTPResponse, RequestExchange, HTTPRequest)) in
            observer.requestDidReceiveHead(received.0, in: received.1, of: received.2)
        }
    }

    private func end(_ ended: RequestExchange, with outcome: Result<HTTPResponse, any Error>) {
        let now = clock.elapsed()
        notify { state in
            state.endExchange(ended.id, at: now).map { ($0, outcome, $1) }
        } _: { (observer, end: (RequestExchange, Result<HTTPResponse, any Error>, HTTPRequest)) in
            observer.requestDidEndExchange(end.0, with: end.1, of: end.2)
        }
    }

    private func receive(_ bytes: Int64) {
        state.withLock { state in
            if state.hasEnded { return }
            if let before = state.receivedBytes {
                state.metrics.bytesReceived = state.metrics.bytesReceived.saturatingAdd(max(0, bytes - before))
            }
            state.receivedBytes = bytes
        }
    }
}
