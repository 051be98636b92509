import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange over URLSession: settles once, from its own state, and ignores whatever URLSession still says after that.
final class URLSessionExchange: Sendable {
    private struct State: Sendable {
        var continuation: UnsafeContinuation<Void, any Error>?
        var hasEnded = false
        /// What ends the task, once there is one.
        var stop: (@Sendable () -> Void)?
        var heads: HeadChoice
        /// True while the place with the host is this exchange's: from the start of the task until its connection is closed or free again.
        var holdsPlace = false
    }

    /// Whether a compressed body may come: only a request that asks for one can have a cut one taken for whole.
    private let takesCompressed: Bool
    private let isHead: Bool
    /// The delivery of a body that is taken as it arrives; nil for one that is only collected.
    private let delivery: BodyDelivery?
    /// A body that is read while it is sent.
    private let streamed: HTTPBody?
    private let place: ExchangePlace?
    private let receive: @Sendable (TransportEvent) throws -> Void
    /// Where this is told what URLSession says.
    let callbacks: CallbackQueue
    private let state: Lock<State>
    /// Held while a redirect is answered, and while the task is cancelled: on Linux one beside the other crashes.
    private let answering = Lock(())

    init(
        _ request: HTTPRequest, streaming streamed: HTTPBody?, on queue: DispatchQueue,
        receive: @escaping @Sendable (TransportEvent) throws -> Void
    ) {
        callbacks = CallbackQueue(on: queue)
        isHead = request.method == .head
        delivery = request[BodyDelivery.self]
        self.streamed = streamed
        place = request[HeldPlace.self]
        state = Lock(State(heads: HeadChoice(expectsTunnel: ProxyEnvironment.mayTunnel(to: request.url))))
        #if canImport(FoundationNetworking)
        takesCompressed = request.method == .head || request.headers.contains(HeaderName.acceptEncoding)
        #else
        takesCompressed = true
        #endif
        self.receive = receive
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    deinit { leavePlace() }

    // MARK: the place with the host

    /// Takes the place for a connection. Returns false if the request has been given up.
    func takePlace() -> Bool {
        guard let place else { return true }
        let isTaken = place.enter()
        state.withLock { $0.holdsPlace = isTaken }
        return isTaken
    }

    /// Gives the place back: the connection is closed or free again.
    func leavePlace() {
        let held = state.withLock { state in
            defer { state.holdsPlace = false }
            return state.holdsPlace
        }
        if held { place?.leave() }
    }

    // MARK: beginning and ending

    /// Takes who waits. Returns false if the exchange was cancelled before; then the one who waits has been told.
    func begin(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
        let isOpen = state.withLock { state in
            if !state.hasEnded { state.continuation = continuation }
            return !state.hasEnded
        }
        if !isOpen { continuation.resume(throwing: CancellationError()) }
        return isOpen
    }

    /// Cancelling blocks its caller, so no caller of ours does it. Not where the callbacks run either: it waits for the thread that adds
    /// them. A serial queue, because those have threads of their own: a concurrent one would block those that run Swift's tasks.
    static let cancelQueue = DispatchQueue(label: "ness.urlsession.cancel")

    var isStreamed: Bool { streamed != nil }

    /// The body from its start.
    func makeBodyStream() -> InputStream? {
        guard let reader = streamed?.makeReader() else { return nil }
        #if canImport(FoundationNetworking)
        return BodyInputStream(reader) { [weak self] error in self?.end(.failure(error)) }
        #else
        return BoundBodyStream.make(reader) { [weak self] error in self?.end(.failure(error)) }
        #endif
    }

    /// The task exists.
    func started(_ task: URLSessionTask) {
        // Without a sink what comes is only collected: to keep it waiting would save nothing.
        if delivery != nil { callbacks.onOverflow { [weak self] in self?.overflow() ?? false } }
        let stop: @Sendable () -> Void = { [answering] in
            Self.cancelQueue.async { answering.withLock { _ in task.cancel() } }
        }
        let isLate = state.withLock { state in
            state.stop = stop
            return state.hasEnded
        }
        if isLate { stop() }
    }

    /// Ends the exchange. Only the first call counts.
    func end(_ result: Result<Void, any Error>) {
        let (continuation, stop): (UnsafeContinuation<Void, any Error>?, (@Sendable () -> Void)?) = state.withLock { state in
            guard !state.hasEnded else { return (nil, nil) }
            state.hasEnded = true
            let taken = (state.continuation, state.stop)
            state.continuation = nil
            state.stop = nil
            return taken
        }
        callbacks.close()
        if case .failure = result { stop?() }
        continuation?.resume(with: result)
    }

    private func report(_ event: TransportEvent) {
        do {
            try receive(event)
        } catch {
            end(.failure(error))
        }
    }

    // MARK: what URLSession says, by way of the callbacks

    func sent(_ total: Int64) {
        if !hasEnded { report(.sent(total)) }
    }

    func received(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        // On Linux interim responses come here too.
        if response.statusCode == 101 {
            return end(.failure(TransportError(.malformedResponse, "the server switched protocols unasked")))
        }
        guard response.statusCode >= 200 else { return }
        head((response.statusCode, ResponseHeaders.make(response)))
    }

    private func head(_ head: HeadChoice.Head) {
        if let final = state.withLock({ $0.hasEnded ? nil : $0.heads.offer(head) }) { report(final) }
    }

    /// Reports the head, if that has not happened: a body follows, or the end.
    private func reportHeldHead() {
        if let held = state.withLock({ $0.heads.settle() }) { report(held) }
    }

    private func report(_ head: HeadChoice.Head) {
        let coding = head.headers[HeaderName.contentEncoding]?.lowercased() ?? "identity"
        if !takesCompressed && coding != "identity" && head.statusCode != 304 && head.statusCode != 204 {
            let reason = "the body came compressed (\(coding)) unasked, and URLSession on Linux can't tell whether it is whole"
            return end(.failure(TransportError(.malformedResponse, reason)))
        }
        report(.head(statusCode: head.statusCode, headers: head.headers))
    }

    func received(_ data: Data) {
        guard !hasEnded else { return }
        reportHeldHead()
        report(.body(data))
    }

    /// Gives the exchange up, if it may be: what waits is taken, then it ends.
    private func overflow() -> Bool {
        guard delivery?.canAbandon() == true else { return false }
        let stop = state.withLock { state in
            defer { state.stop = nil }
            return state.stop
        }
        stop?()
        // Held until then: whoever waits must hear of it.
        callbacks.close { [self] in end(.failure(ReceiverFellBehind())) }
        return true
    }

    func redirected(_ response: HTTPURLResponse) {
        let redirect = (response.statusCode, ResponseHeaders.make(response))
        state.withLock { $0.heads.offerRedirect(redirect) }
    }

    /// Answers a redirect with "no". On Linux a task that was cancelled must not be answered at all.
    func answerRedirect(_ answer: (URLRequest?) -> Void) {
        answering.withLock { _ in
            #if canImport(FoundationNetworking)
            if hasEnded { return }
            #endif
            answer(nil)
        }
    }

    /// URLSession on Linux never reports a redirect without a Location, and loses its body. Without the body there is no response; the head
    /// belongs to the error. Returns false if the exchange has ended with it.
    private func reportUnreported(_ response: URLResponse?) -> Bool {
        guard !state.withLock({ $0.heads.hasResponse }), let response = response as? HTTPURLResponse,
            [301, 302, 303, 305, 306, 307, 308].contains(response.statusCode),
            response.value(forHTTPHeaderField: HeaderName.location) == nil
        else { return true }
        let headers = ResponseHeaders.make(response)
        state.withLock { $0.heads.offerRedirect((response.statusCode, headers)) }
        reportHeldHead()
        if isHead || headers[HeaderName.contentLength] == "0" { return true }
        var error = TransportError(.truncated, "URLSession on Linux loses the body of a redirect without a Location")
        error.isFinal = true
        end(.failure(error))
        return false
    }

    /// A challenge that nobody can answer: the response stands.
    func challenged(_ response: URLResponse?) {
        if let response { received(response) }
        reportHeldHead()
        end(.success(()))
    }

    func completed(_ error: (any Error)?, _ response: URLResponse?) {
        guard !hasEnded else { return }
        // A held head stays unreported: it may be that of a proxy that led nowhere.
        if let error { return end(.failure(URLSessionError.map(error))) }
        guard reportUnreported(response) else { return }
        reportHeldHead()
        guard state.withLock({ $0.heads.hasResponse }) else {
            return end(.failure(TransportError(.malformedResponse, "the transfer ended without a response")))
        }
        end(.success(()))
    }
}
