import Foundation
import NessHTTP
import NessLock
import NessPromise

/// The part of a `TestServer` that its threads share. It outlives the server object until the last thread has ended.
final class ServerCore: Sendable {
    /// The treatment of a connection.
    enum Behavior: Sendable {
        case handler(TestServer.Handler)
        case script(@Sendable (ConnectionInfo) -> [ConnectionStep])
    }

    /// The treatment of every connection.
    let behavior: Behavior
    private let recordsRequests: Bool
    /// The longest body of a request in bytes.
    let bodyLimit: Int
    private let listener: Listener
    /// Encrypts the connections; `nil` for plain ones.
    private let tls: TLSContext?

    private let changed = ChangeSignal()
    /// Wakes every connection's thread from any wait.
    private let stopPipe: WakePipe

    private struct State: Sendable {
        var counters = TestServer.Statistics()
        var log = RequestLog()
        var routes: [ResumableUploads] = []
        var threads = 0
        var isStopping = false
    }

    private let state = Lock(State())

    init(listener: Listener, stopPipe: WakePipe, tls: TLSContext?, behavior: Behavior, recordsRequests: Bool, bodyLimit: Int) {
        self.tls = tls
        self.stopPipe = stopPipe
        self.listener = listener
        self.behavior = behavior
        self.recordsRequests = recordsRequests
        self.bodyLimit = bodyLimit
    }

    var statistics: TestServer.Statistics { state.withLock { $0.counters } }
    var requests: [ReceivedRequest] { state.withLock { $0.log.newest } }

    /// Adds a route that serves requests in place of the handler.
    func install(_ route: ResumableUploads) { state.withLock { $0.routes.append(route) } }

    /// Returns the route that serves a request; `nil` if the handler does.
    func route(for head: IncomingRequest) -> ResumableUploads? {
        state.withLock { $0.routes }.first { $0.serves(head) }
    }

    /// Starts the thread that accepts connections.
    /// - Throws: `TestServerError` if the process has no threads left.
    func start() throws {
        let code = run { core in core.listener.acceptAll { core.accept($0) } }
        guard code == 0 else {
            listener.stop()
            // Returns immediately, and closes the socket.
            listener.acceptAll { Platform.closeDescriptor($0) }
            throw TestServerError(operation: "pthread_create", code: code)
        }
    }

    /// Ends the listener and every connection. Does not wait for them.
    func beginStop() {
        state.withLock { $0.isStopping = true }
        listener.stop()
        stopPipe.wake()
    }

    /// Suspends until every thread has ended, even when the waiting task is canceled.
    func ended() async { await changed.wait(heedingCancellation: false) { state.withLock { $0.threads == 0 } } }

    /// Suspends until a condition holds.
    /// - Returns: True if the condition holds; false if the task was canceled or the server has ended.
    func wait(until predicate: (TestServer.Statistics) -> Bool) async -> Bool {
        await changed.wait {
            let (counters, threads) = state.withLock { ($0.counters, $0.threads) }
            if predicate(counters) { return true }
            return threads == 0 ? nil : false
        }
    }

    /// Counts bytes that a connection has received.
    func received(bytes: Int) { change { $0.counters.bytesReceived += bytes } }

    /// Numbers, counts and records a request.
    func received(_ request: inout ReceivedRequest) {
        change {
            $0.counters.requestCount += 1
            request.number = $0.counters.requestCount
            if recordsRequests { $0.log.append(request) }
        }
    }

    /// Changes the number of connections that have an exchange in progress.
    func changeBusyConnections(by difference: Int) { change { $0.counters.busyConnections += difference } }

    private func accept(_ descriptor: Int32) {
        let number = change { state -> Int? in
            guard !state.isStopping else { return nil }
            state.counters.connectionCount += 1
            state.counters.openConnections += 1
            return state.counters.connectionCount
        }
        guard let number else { return Platform.closeDescriptor(descriptor) }
        let code = run { core in
            let session = core.tls.flatMap { TLSSession($0) }
            let socket = ConnectionSocket(descriptor: descriptor, stop: core.stopPipe.readingEnd, session: session)
            let connection = Connection(socket: socket, core: core, number: number)
            connection.run()
            // A reply that the stop cuts off must not look complete, so the connection is reset.
            socket.close(resetting: connection.isReplying && socket.isStopping)
            core.change { $0.counters.openConnections -= 1 }
        }
        guard code != 0 else { return }
        Platform.closeDescriptor(descriptor)
        change { $0.counters.openConnections -= 1 }
    }

    /// Runs a closure on a separate thread.
    /// - Returns: 0, or the `errno` of a thread that could not be started.
    private func run(_ body: @escaping @Sendable (ServerCore) -> Void) -> Int32 {
        state.withLock { $0.threads += 1 }
        let code = NativeThread.start(stackSize: 512 << 10) {
            Thread.current.name = "ness.testserver"
            body(self)
            self.change { $0.threads -= 1 }
        }
        if code != 0 { change { $0.threads -= 1 } }
        return code
    }

    @discardableResult
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        defer { changed.notify() }
        return state.withLock(body)
    }
}
