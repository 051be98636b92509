import Foundation
import NessLock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange over URLSession. It settles once, and ignores all later callbacks of URLSession.
final class URLSessionExchange: Sendable {
    struct State: Sendable {
        var hasEnded = false
        var heads: HeadChoice
        /// The producers of the body's sequences, which end with the exchange.
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

    /// The implementation of URLSession below.
    let system: URLSessionSystem
    /// True if a compressed body is accepted. On Linux only a request that asks for compression takes the risk of an undetected truncation.
    let takesCompressed: Bool
    let isHead: Bool
    /// True if the server may get the system's credentials.
    let usesSystemCredentials: Bool
    /// The networks that the request must not use.
    let unusable: NetworkTraits
    /// The body that is read while it is sent. `nil` for a body in memory.
    private let streamed: HTTPBody?
    let control: (any ExchangeControl)?
    /// The events on their way to the caller's task.
    let mailbox: EventMailbox
    let state: Lock<State>
    /// Held during the decision about a redirect and while the task is canceled. On Linux, doing both at the same time crashes.
    let answering = Lock(())
    /// The task, and whether it is suspended. There is no task before the start and after the end.
    private let flow = Lock<(task: (any SessionTask)?, isSuspended: Bool)>((nil, false))

    init(
        _ request: HTTPRequest, streaming streamed: HTTPBody?, under control: (any ExchangeControl)? = nil,
        usesSystemCredentials: Bool = false, over source: SessionSource = SessionSource()
    ) {
        system = source.system
        self.usesSystemCredentials = usesSystemCredentials
        unusable = NetworkTraits(refusedBy: request)
        // A body that is collected in memory needs no file.
        mailbox = EventMailbox(spillLimit: control?.streamsResponse == false ? nil : source.spillLimit)
        isHead = request.method == .head
        self.streamed = streamed
        self.control = control
        let mayTunnel = system == .linux && ProxyEnvironment.mayTunnel(to: request.url)
        state = Lock(State(heads: HeadChoice(expectsTunnel: mayTunnel)))
        takesCompressed = system == .apple || isHead || request.headers.contains(HeaderName.acceptEncoding)
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

    /// The queue that cancels tasks. `cancel()` waits for the thread that calls the delegate, so it must not run there, and must not block
    /// the caller's thread. The queue is serial, so that it uses a separate thread. A concurrent queue would block threads that run Swift
    /// tasks.
    static let cancelQueue = DispatchQueue(label: "ness.urlsession.cancel")

    var isStreamed: Bool { streamed != nil }

    /// Makes a stream of the body, from its start.
    func makeBodyStream() -> InputStream? {
        guard let reader = streamed?.makeReader() else { return nil }
        let producers = reader.producers
        let isLate = state.withLock { state in
            if !state.hasEnded { state.producers += producers }
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

    /// Closes the streams that URLSession reads the body from. Call this once the task has ended, or if none was made: a running task would
    /// take the end of its stream for the end of a complete body.
    func releaseBody() {
        let writers = state.withLock { state in
            state.hasReleasedBody = true
            defer { state.writers = [] }
            return state.writers
        }
        for writer in writers { writer.close() }
    }

    /// Stores the task that was just made, and cancels it if the exchange has ended meanwhile.
    func started(_ task: any SessionTask) {
        flow.withLock { $0.task = task }
        if hasEnded { close(stops: true) }
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

    /// Marks the exchange as ended and releases its resources. Cancels the task if `stops` is true.
    func close(stops: Bool) {
        let (producers, watch) = state.withLock { state in
            defer { state.producers = [] }
            state.hasEnded = true
            return (state.producers, state.networkWatch.take())
        }
        watch?.cancel()
        for producer in producers { producer.cancel() }
        // A task that is kept after the end would retain its URLSession, and with it this exchange and a download's file.
        guard let task = flow.withLock({ $0.task.take() }), stops else { return }
        Self.cancelQueue.async { [self] in answering.withLock { _ in task.cancel() } }
    }

    func report(_ event: TransportEvent) {
        var batch = EventBatch()
        batch.add(event)
        // The mailbox takes no events after the end, or when the file of a slow reader is full.
        guard mailbox.put(batch) else { return close(stops: true) }
        if mailbox.room(besides: 0) == 0 { adjustFlow() }
    }

    /// Suspends the task while the mailbox is full, which holds the server back, and resumes it afterwards. URLSession on Linux cannot
    /// pause a task: it would receive the body again from the start.
    func adjustFlow() {
        guard system == .apple else { return }
        // The state of the mailbox is read inside the lock, so the last of several calls leaves the task as the mailbox demands.
        flow.withLock { flow in
            let isFull = mailbox.isPaused
            guard isFull != flow.isSuspended else { return }
            flow.isSuspended = isFull
            if isFull { flow.task?.suspend() } else { flow.task?.resume() }
        }
    }
}
