/// What the manager's observers are told of one request, and what it takes.
///
/// Events come from the request's task and from the transport; they are told one at a time, and none after the end: a stage that takes no
/// notice of a drop may go on for a while. The observers are let go at the end, so that one that keeps requests keeps nothing alive.
final class Observation: RequestActivity {
    private struct State: Sendable {
        var observers: [any RequestObserver]
        /// The request of the attempt that runs.
        var sent: HTTPRequest?
        /// When the attempt that waits for its first exchange was ready.
        var readyAt: Duration?
        var exchangeAt: Duration?
        var hasHead = false
        /// How many bytes the exchange had sent when it last said so.
        var sentBytes: Int64 = 0
        /// How many bytes there were when that was last said: of the exchange, or of a download's whole file.
        var receivedBytes: Int64? = 0
        var metrics = RequestMetrics()
    }

    private let state: Lock<State>
    private let calls = InOrder()
    private let clock: Timekeeper
    private let start: Duration
    private let tracker: RequestTracker
    private let isDownload: Bool

    init(_ observers: [any RequestObserver], of call: Call, clock: Timekeeper) {
        isDownload = call.choices.kind == .download
        // What a download finds on the disk did not come.
        state = Lock(State(observers: observers, receivedBytes: isDownload ? nil : 0))
        self.clock = clock
        start = clock.elapsed()
        tracker = call.tracker
    }

    /// Tells every observer.
    func tell(_ event: @escaping @Sendable (any RequestObserver) -> Void) {
        calls.run { [self] in
            for observer in state.withLock({ $0.observers }) { event(observer) }
        }
    }

    /// Tells that an attempt is ready.
    func willSend(_ request: HTTPRequest) {
        let now = clock.elapsed()
        state.withLock { state in
            guard !state.observers.isEmpty else { return }
            state.sent = request
            state.readyAt = now
        }
        tell { $0.requestWillSend(request) }
    }

    /// What the observers, asked in order, say to a response: the first that refuses it ends that. After the end, nothing.
    func verdict(on response: HTTPResponse, to request: HTTPRequest) -> ResponseValidatorResult {
        let verdict = Lock(ResponseValidatorResult.valid)
        calls.runAndWait { [self] in
            for observer in state.withLock({ $0.observers }) {
                switch observer.verdict(on: response, to: request) {
                case .valid: continue
                case .invalid: verdict.withLock { $0 = .invalidWithReason("the response was refused by \(type(of: observer))") }
                case .invalidWithReason(let reason): verdict.withLock { $0 = .invalidWithReason(reason) }
                }
                return
            }
        }
        return verdict.withLock { $0 }
    }

    /// Tells how it ended, once.
    func end(_ request: HTTPRequest, _ outcome: Result<HTTPResponse, any Error>) {
        let now = clock.elapsed()
        let metrics = state.withLock { state in
            state.sent = nil
            state.metrics.outcome = outcome
            state.metrics.attempts = tracker.attempts
            state.metrics.total = now - start
            return state.metrics
        }
        // In one piece: what a stage that is still at it tells comes before all of this, or not at all.
        calls.run { [self] in
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
    }

    // MARK: what happens on the wire

    func requestDidStart(attempt: Int) {
        tracker.requestDidStart(attempt: attempt)
        let now = clock.elapsed()
        let request = state.withLock { state in
            state.hasHead = false
            state.metrics.timeToFirstByte = nil
            state.metrics.exchanges += 1
            state.sentBytes = 0
            if !isDownload { state.receivedBytes = 0 }
            if let readyAt = state.readyAt { state.metrics.queueTime += now - readyAt }
            state.readyAt = nil
            state.exchangeAt = now
            return state.sent
        }
        if let request { tell { $0.requestDidBeginExchange(request) } }
    }

    func requestDidSend(bytes: Int64, of total: Int64?) {
        tracker.requestDidSend(bytes: bytes, of: total)
        state.withLock { state in
            state.metrics.bytesSent += max(0, bytes - state.sentBytes)
            state.sentBytes = bytes
        }
    }

    func requestDidReceive(bytes: Int64, of total: Int64?) {
        tracker.requestDidReceive(bytes: bytes, of: total)
        let now = clock.elapsed()
        let request: HTTPRequest? = state.withLock { state in
            if let before = state.receivedBytes { state.metrics.bytesReceived += max(0, bytes - before) }
            state.receivedBytes = bytes
            guard !state.hasHead else { return nil }
            state.hasHead = true
            state.metrics.timeToFirstByte = state.exchangeAt.map { now - $0 }
            return state.sent
        }
        if let request { tell { $0.requestDidReceiveHead(request) } }
    }
}

/// The observers' say, in front of the caller's validators.
struct ObserverVerdict: ResponseValidator {
    let observation: Observation
    /// The request, as the caller made it.
    let request: HTTPRequest

    func validate(for response: HTTPResponse) -> ResponseValidatorResult { observation.verdict(on: response, to: request) }
}
