import Foundation
import NessLock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange over URLSession. It settles once, and ignores all later callbacks of URLSession.
final class URLSessionExchange: Sendable {
    private struct State: Sendable {
        var hasEnded = false
        /// Cancels the task. `nil` before the task exists.
        var stop: (@Sendable () -> Void)?
        var heads: HeadChoice
        /// The readers of the body's sequences, which end with the exchange.
        var producers: [BodyProducer] = []
        /// The writers of the streams that URLSession reads the body from. They end with the task.
        var writers: [BodyWriter] = []
        /// True if no task reads a stream any more.
        var hasReleasedBody = false
        var progress = URLSessionError.Progress()
        /// The number of interim responses so far.
        var interimCount = 0
        /// Ends the pause of the idle timer when there is a network.
        var networkWatch: Task<Void, Never>?
        /// True while this exchange occupies a connection of the host's limit: from the start of the task until its connection is closed or
        /// idle.
        var holdsPlace = false
    }

    /// True if a compressed body is accepted. On Linux only a request that asks for compression takes the risk of an undetected truncation.
    private let takesCompressed: Bool
    private let isHead: Bool
    /// True if the server may get the system's credentials.
    let usesSystemCredentials: Bool
    /// The networks that the request must not use.
    private let unusable: NetworkTraits
    /// The body that is read while it is sent. `nil` for a body in memory.
    private let streamed: HTTPBody?
    private let control: (any ExchangeControl)?
    /// The events on their way to the caller's task.
    let mailbox: EventMailbox
    private let state: Lock<State>
    /// Held during the decision about a redirect and while the task is canceled. On Linux, doing both at the same time crashes.
    private let answering = Lock(())

    /// The most bytes that wait in a file, on Linux, where nothing holds the server back.
    private static let spillLimit: Int64 = 1 << 30

    init(
        _ request: HTTPRequest, streaming streamed: HTTPBody?, under control: (any ExchangeControl)? = nil,
        usesSystemCredentials: Bool = false
    ) {
        self.usesSystemCredentials = usesSystemCredentials
        unusable = NetworkTraits(refusedBy: request)
        #if canImport(FoundationNetworking)
        // A body that is collected in memory needs no file.
        mailbox = EventMailbox(spillLimit: control?.streamsResponse == true ? Self.spillLimit : nil)
        #else
        mailbox = EventMailbox()
        #endif
        isHead = request.method == .head
        self.streamed = streamed
        self.control = control
        state = Lock(State(heads: HeadChoice(expectsTunnel: ProxyEnvironment.mayTunnel(to: request.url))))
        #if canImport(FoundationNetworking)
        takesCompressed = request.method == .head || request.headers.contains(HeaderName.acceptEncoding)
        #else
        takesCompressed = true
        #endif
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    deinit { leavePlace() }

    // MARK: the host's connection limit

    /// Occupies a connection of the host's limit. Returns false if the request was abandoned.
    func takeSlot() -> Bool {
        guard let control else { return true }
        let isTaken = control.occupySlot()
        state.withLock { $0.holdsPlace = isTaken }
        return isTaken
    }

    /// Releases the place in the host's limit, because the connection is closed or idle.
    func leavePlace() {
        let held = state.withLock { state in
            defer { state.holdsPlace = false }
            return state.holdsPlace
        }
        if held { control?.releaseSlot() }
    }

    // MARK: start and end

    /// The queue that cancels tasks. `cancel()` blocks its thread, so it runs neither on the caller's thread nor on the one that calls the
    /// delegate: it waits for that one. The queue is serial, because it then uses a separate thread. A concurrent queue would block
    /// threads that run Swift tasks.
    static let cancelQueue = DispatchQueue(label: "ness.urlsession.cancel")

    var isStreamed: Bool { streamed != nil }

    /// Makes a stream of the body, from its start.
    func makeBodyStream() -> InputStream? {
        guard let reader = streamed?.makeReader() else { return nil }
        let producers = reader.producers
        let isLate = state.withLock { state in
            state.producers += producers
            return state.hasEnded
        }
        if isLate { for producer in producers { producer.cancel() } }
        let fail: @Sendable (any Error) -> Void = { [weak self] error in self?.end(.failure(TransportError.whileSending(error))) }
        #if canImport(FoundationNetworking)
        return BodyInputStream(reader, fail: fail)
        #else
        guard let (input, writer) = BoundBodyStream.make(reader, fail: fail) else { return nil }
        keep(writer)
        return input
        #endif
    }

    /// Keeps the writer of a stream that URLSession reads, until the task has ended.
    func keep(_ writer: BodyWriter) {
        let isLate = state.withLock { state in
            if !state.hasReleasedBody { state.writers.append(writer) }
            return state.hasReleasedBody
        }
        if isLate { writer.close() }
    }

    /// Closes the streams that URLSession reads the body from. The task has ended, or none was made: a running one would take the end of
    /// its stream for the end of a whole body.
    func releaseBody() {
        let writers = state.withLock { state in
            state.hasReleasedBody = true
            defer { state.writers = [] }
            return state.writers
        }
        for writer in writers { writer.close() }
    }

    /// Stores the way to cancel the task that was just made.
    func started(_ task: URLSessionTask) {
        #if !canImport(FoundationNetworking)
        flow.withLock { $0.task = task }
        #endif
        let stop: @Sendable () -> Void = { [self] in
            Self.cancelQueue.async { [self] in answering.withLock { _ in task.cancel() } }
        }
        let isLate = state.withLock { state in
            state.stop = stop
            return state.hasEnded
        }
        if isLate { stop() }
    }

    /// Ends the exchange, after the events that were reported before. Only the first end counts.
    func end(_ result: Result<Void, any Error>) {
        mailbox.put(EventBatch(), end: result)
        if case .failure = result { close(stops: true) } else { close(stops: false) }
    }

    /// Ends the exchange immediately, and discards the events that the task has not seen.
    func cancel(_ error: any Error) {
        mailbox.cancel(error)
        close(stops: true)
    }

    private func close(stops: Bool) {
        let (stop, producers, watch): ((@Sendable () -> Void)?, [BodyProducer], Task<Void, Never>?) = state.withLock { state in
            defer { (state.stop, state.producers, state.networkWatch) = (nil, [], nil) }
            state.hasEnded = true
            return (state.stop, state.producers, state.networkWatch)
        }
        watch?.cancel()
        for producer in producers { producer.cancel() }
        if stops { stop?() }
        #if !canImport(FoundationNetworking)
        flow.withLock { $0.task = nil }
        #endif
    }

    private func report(_ event: TransportEvent) {
        var batch = EventBatch()
        batch.add(event)
        // The mailbox takes no events after the end, or when the file of a slow reader is full.
        guard mailbox.put(batch) else { return close(stops: true) }
        #if !canImport(FoundationNetworking)
        if mailbox.room(besides: 0) == 0 { adjustFlow() }
        #endif
    }

    #if canImport(FoundationNetworking)
    /// Does nothing: URLSession on Linux cannot pause a task.
    func adjustFlow() {}
    #else
    /// The task, and whether it is suspended.
    private let flow = Lock<(task: URLSessionTask?, isSuspended: Bool)>((nil, false))

    /// Suspends the task while the mailbox is full, which holds the server back, and resumes it afterwards.
    func adjustFlow() {
        // The state of the mailbox is read inside the lock, so the last of several calls leaves the task as the mailbox demands.
        flow.withLock { flow in
            let isFull = mailbox.isPaused
            guard isFull != flow.isSuspended else { return }
            flow.isSuspended = isFull
            if isFull { flow.task?.suspend() } else { flow.task?.resume() }
        }
    }
    #endif

    // MARK: URLSession's callbacks

    func sent(_ total: Int64) {
        state.withLock { $0.progress.hasSent = true }
        if !hasEnded { report(.sent(total)) }
    }

    /// Reports the measurements of the connection. URLSession takes them before it reports the end.
    /// - Parameters:
    ///   - connection: The measurements; `nil` if there was no connection.
    ///   - hasBegun: True if URLSession started to send a request.
    func measured(_ connection: ConnectionMetrics?, hasBegun: Bool) {
        state.withLock { $0.progress.hasBegun = hasBegun }
        if let connection, !hasEnded { report(.connection(connection)) }
    }

    #if canImport(Network)
    /// Stops the idle timer and frees the host's slot until there is a network. URLSession does not report the end of its wait.
    func waitForNetwork() {
        control?.waitsForNetwork()
        let watch = Task { [unusable, control] in
            if (try? await unusable.waitForOther()) != nil { control?.bytesDidMove() }
        }
        let superfluous: Task<Void, Never>? = state.withLock { state in
            if state.hasEnded { return watch }
            defer { state.networkWatch = watch }
            return state.networkWatch
        }
        superfluous?.cancel()
    }
    #endif

    /// Reports an interim response.
    func receivedInterim(_ response: HTTPURLResponse) {
        let count = state.withLock { state in
            state.progress.hasSent = true
            state.interimCount += 1
            return state.interimCount
        }
        guard count <= HeadChoice.maximumInterimCount else { return end(.failure(HeadChoice.tooManyInterim)) }
        if !hasEnded { report(.interim(statusCode: response.statusCode, headers: ResponseHeaders.make(response))) }
    }

    /// Ends the exchange after a challenge about certificates was rejected. URLSession then only says that the task was canceled.
    func rejected(_ failure: TLSFailure, _ reason: String) {
        end(.failure(TransportError(.tls, reason, tlsFailure: failure)))
    }

    func received(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        // On Linux this method is also called for interim responses.
        if response.statusCode == 101 {
            return end(.failure(TransportError(.malformedResponse, "the server switched protocols, which was not requested")))
        }
        guard response.statusCode >= 200 else { return }
        head((response.statusCode, ResponseHeaders.make(response)))
    }

    private func head(_ head: HeadChoice.Head) {
        if let final = state.withLock({ $0.hasEnded ? nil : $0.heads.offer(head) }) { report(final) }
    }

    /// Reports the held head, if it was not reported: the body or the end follows.
    private func reportHeldHead() {
        if let held = state.withLock({ $0.heads.settle() }) { report(held) }
    }

    private func report(_ head: HeadChoice.Head) {
        let coding = head.headers[HeaderName.contentEncoding]?.lowercased() ?? "identity"
        if !takesCompressed && coding != "identity" && head.statusCode != 304 && head.statusCode != 204 {
            let reason =
                "the server compressed the body (\(coding)), which was not requested; URLSession on Linux can't tell whether it is complete"
            return end(.failure(TransportError(.malformedResponse, reason)))
        }
        state.withLock { $0.progress.hasHead = true }
        report(.head(statusCode: head.statusCode, headers: head.headers))
    }

    func received(_ data: Data) {
        guard !hasEnded else { return }
        reportHeldHead()
        report(.body(data))
    }

    func redirected(_ response: HTTPURLResponse) {
        let redirect = (response.statusCode, ResponseHeaders.make(response))
        state.withLock { $0.heads.offerRedirect(redirect) }
    }

    /// Does not follow a redirect. On Linux a canceled task must get no decision.
    func answerRedirect(_ answer: (URLRequest?) -> Void) {
        answering.withLock { _ in
            #if canImport(FoundationNetworking)
            if hasEnded { return }
            #endif
            answer(nil)
        }
    }

    /// URLSession on Linux never reports a redirect without a Location, and loses its body. The exchange then fails with an error that
    /// holds the head. Returns false if the exchange has ended in this way.
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

    /// Ends the exchange after an authentication challenge. The 401 or 407 is the response.
    func challenged(_ response: URLResponse?) {
        if let response { received(response) }
        reportHeldHead()
        end(.success(()))
    }

    func completed(_ error: (any Error)?, _ response: URLResponse?) {
        guard !hasEnded else { return }
        // A held head is not reported: it may be that of a proxy that did not reach the server.
        if let error {
            let progress = state.withLock { $0.progress }
            return end(.failure(URLSessionError.map(error, after: progress)))
        }
        guard reportUnreported(response) else { return }
        reportHeldHead()
        guard state.withLock({ $0.heads.hasResponse }) else {
            return end(.failure(TransportError(.malformedResponse, "the transfer ended without a response")))
        }
        end(.success(()))
    }
}
