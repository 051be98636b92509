/// The state of an `Observation`, and what each event changes in it.
struct ObservationState: Sendable {
    /// Calls of methods of all observers.
    typealias Calls = @Sendable ([any RequestObserver]) -> Void

    var observers: [any RequestObserver]
    var hasBegun = false
    var hasEnded = false
    /// The calls from before the start, such as that of a pause.
    var early: [Calls] = []
    /// True while a thread makes calls.
    var isNotifying = false
    /// The calls that wait for that thread.
    var waiting: [Calls] = []
    /// The request of the current attempt; `nil` before the first and after the end.
    var sent: HTTPRequest?
    /// The time at which the current attempt was ready to be sent; `nil` once its first exchange has started.
    var readyAt: Duration?
    var exchangeAt: Duration?
    /// The waits that have not ended, with their starts. `request` is that of the attempt: a loader may send several at a time.
    var waits: [(place: WaitingPlace, start: Duration, request: HTTPRequest)] = []
    /// The exchanges that have not ended.
    var exchanges: [(exchange: RequestExchange, request: HTTPRequest)] = []
    /// The number of body bytes that the exchange had sent at its last report.
    var sentBytes: Int64 = 0
    /// The number of body bytes at the last report: those of the exchange, or for a download those of the whole file.
    var receivedBytes: Int64? = 0
    var metrics = RequestMetrics()

    mutating func endQueueTime(at now: Duration) {
        if let readyAt { metrics.queueTime += now - readyAt }
        readyAt = nil
    }

    /// Ends a wait.
    /// - Returns: Its request and its length; `nil` if there was none.
    mutating func endWait(at place: WaitingPlace, at now: Duration) -> (HTTPRequest, Duration)? {
        guard let index = waits.firstIndex(where: { $0.place == place }) else { return nil }
        let wait = waits.remove(at: index)
        metrics.waits[place, default: .zero] += now - wait.start
        return (wait.request, now - wait.start)
    }

    /// Ends an exchange.
    /// - Returns: The exchange with its duration, and its request; `nil` for an exchange that is unknown or has ended.
    mutating func endExchange(_ id: RequestExchange.ID, at now: Duration) -> (RequestExchange, HTTPRequest)? {
        guard let index = exchanges.firstIndex(where: { $0.exchange.id == id }) else { return nil }
        let ended = exchanges.remove(at: index)
        return (ended.exchange.ended(at: now), ended.request)
    }

    /// Ends all that has not ended.
    /// - Returns: The calls for it.
    mutating func endAll(at now: Duration, with outcome: Result<HTTPResponse, any Error>) -> [Calls] {
        sent = nil
        if waits.isEmpty && exchanges.isEmpty { return [] }
        let error: any Error = if case .failure(let error) = outcome { error } else { CancellationError() }
        var calls: [Calls] = []
        while let place = waits.first?.place, let (request, length) = endWait(at: place, at: now) {
            calls.append { for observer in $0 { observer.requestDidWait(request, at: place, for: length) } }
        }
        while let id = exchanges.first?.exchange.id, let (exchange, request) = endExchange(id, at: now) {
            calls.append { for observer in $0 { observer.requestDidEndExchange(exchange, with: .failure(error), of: request) } }
        }
        return calls
    }

    /// Takes the turn to make calls.
    /// - Parameter calls: The calls that are queued if another thread has the turn.
    /// - Returns: The observers; `nil` if another thread has the turn.
    mutating func takeTurn(orLater calls: @autoclosure () -> Calls) -> [any RequestObserver]? {
        if isNotifying {
            waiting.append(calls())
            return nil
        }
        isNotifying = true
        return observers
    }

    /// Queues calls, and takes the turn if no thread has it.
    /// - Returns: True if the caller has taken the turn, and must have the calls made.
    mutating func add(_ calls: @escaping Calls) -> Bool {
        waiting.append(calls)
        defer { isNotifying = true }
        return !isNotifying
    }

    /// The next calls for the thread that makes them; `nil` ends its turn.
    mutating func next() -> (Calls, [any RequestObserver])? {
        if waiting.isEmpty {
            isNotifying = false
            return nil
        }
        return (waiting.removeFirst(), observers)
    }
}
