import NessPromise

/// One exchange that any number of callers wait for.
///
/// Each caller has a promise of its own, a child of the exchange's: dropping one leaves the others, dropping the last drops the exchange.
final class Flight: Sendable {
    let response: Promise<HTTPResponse>
    let activity = SharedActivity()
    /// Those who wait, by number: each leaves when it settles, so that neither a join nor a count has to look through them.
    private let callers = Lock((next: 0, waiting: [Int: Promise<HTTPResponse>]()))

    init() { response = Promise(makeDropError: { FlightEnded() }) }

    /// The promise of one more caller.
    func join(_ request: HTTPRequest) -> Promise<HTTPResponse> {
        // Before the end can come: an error says how often the request was sent.
        let attempt = activity.attempt
        if let attempt { request.activity?.requestDidStart(attempt: attempt) }
        let caller = response.then(on: .immediate) { $0 }
        let number = callers.withLock { callers in
            callers.next += 1
            callers.waiting[callers.next] = caller
            return callers.next
        }
        // It may have settled already.
        if !caller.onSettle({ [self] _ in leave(number) }) { leave(number) }
        // After the link: who hears of progress counts on a share in it, whatever the others do.
        activity.add(request.activity, told: attempt)
        return caller
    }

    private func leave(_ number: Int) { callers.withLock { _ = $0.waiting.removeValue(forKey: number) } }

    var callerCount: Int { callers.withLock { $0.waiting.count } }

    /// Fails every caller but one.
    func setAside(except kept: Promise<HTTPResponse>? = nil, becauseOf error: @autoclosure () -> any Error) {
        let waiting = callers.withLock { $0.waiting.sorted { $0.key < $1.key }.map(\.value) }
        for caller in waiting where caller !== kept { caller.drop(becauseOf: error()) }
    }
}

/// Everyone who waited for an exchange went away: who comes just then begins anew.
struct FlightEnded: Error {}

/// Tells every caller of an exchange what it does; one who comes late is told how far it is.
final class SharedActivity: RequestActivity {
    private struct State: Sendable {
        var listeners: [any RequestActivity] = []
        var attempt: Int?
        var sent: (Int64, Int64?)?
        var received: (Int64, Int64?)?
    }

    private let state = Lock(State())

    var attempt: Int? { state.withLock { $0.attempt } }

    /// Has a listener hear what the exchange does, and how far it is.
    /// - Parameter attempt: The attempt that it has been told of.
    func add(_ listener: (any RequestActivity)?, told attempt: Int?) {
        guard let listener else { return }
        let known = state.withLock { state in
            state.listeners.append(listener)
            return state
        }
        if let known = known.attempt, known != attempt { listener.requestDidStart(attempt: known) }
        if let (bytes, total) = known.sent { listener.requestDidSend(bytes: bytes, of: total) }
        if let (bytes, total) = known.received { listener.requestDidReceive(bytes: bytes, of: total) }
    }

    func requestDidStart(attempt: Int) {
        let listeners = state.withLock { state in
            (state.attempt, state.sent, state.received) = (attempt, nil, nil)
            return state.listeners
        }
        for listener in listeners { listener.requestDidStart(attempt: attempt) }
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        let listeners = state.withLock { state in
            state.sent = (bytes, total)
            return state.listeners
        }
        for listener in listeners { listener.requestDidSend(bytes: bytes, of: total) }
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        let listeners = state.withLock { state in
            state.received = (bytes, total)
            return state.listeners
        }
        for listener in listeners { listener.requestDidReceive(bytes: bytes, of: total) }
    }
}
