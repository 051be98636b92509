import Foundation
import NessHTTP
import NessPromise

/// The part of a `TestServer` that its threads share. It outlives the server object until the last thread has ended.
final class ServerCore: @unchecked Sendable {
    /// The treatment of a connection.
    enum Behavior: Sendable {
        case handler(TestServer.Handler)
        case script(@Sendable (ConnectionInfo) -> [ConnectionStep])
    }

    /// The treatment of every connection.
    let behavior: Behavior
    private let recordsRequests: Bool
    private let listener: Listener
    /// Encrypts the connections; `nil` for plain ones.
    private let tls: TLSContext?

    private let changed = ChangeSignal()
    /// Wakes every connection's thread from any wait.
    private let stopPipe: WakePipe

    // `lock` guards every var below.
    private let lock = NSLock()
    private var counters = TestServer.Statistics()
    private var log = RequestLog()
    private var threads = 0
    private var isStopping = false

    init(listener: Listener, stopPipe: WakePipe, tls: TLSContext?, behavior: Behavior, recordsRequests: Bool) {
        self.tls = tls
        self.stopPipe = stopPipe
        self.listener = listener
        self.behavior = behavior
        self.recordsRequests = recordsRequests
    }

    var statistics: TestServer.Statistics { lock.withLock { counters } }
    var requests: [ReceivedRequest] { lock.withLock { log.newest } }

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
        lock.withLock { isStopping = true }
        listener.stop()
        stopPipe.wake()
    }

    /// Suspends until every thread has ended, even when the waiting task is canceled.
    func ended() async { await changed.wait(heedingCancellation: false) { lock.withLock { threads == 0 } } }

    /// Suspends until a condition holds.
    /// - Returns: True if the condition holds; false if the task was canceled or the server has ended.
    func wait(until predicate: (TestServer.Statistics) -> Bool) async -> Bool {
        await changed.wait {
            let (current, remaining) = lock.withLock { (counters, threads) }
            if predicate(current) { return true }
            return remaining == 0 ? nil : false
        }
    }

    /// Counts bytes that a connection has received.
    func received(bytes: Int) { change { $0.counters.bytesReceived += bytes } }

    /// Numbers, counts and records a request.
    func received(_ request: inout ReceivedRequest) {
        change {
            $0.counters.requestCount += 1
            request.number = $0.counters.requestCount
            if $0.recordsRequests { $0.log.append(request) }
        }
    }

    /// Changes the number of connections that have an exchange in progress.
    func changeBusyConnections(by difference: Int) { change { $0.counters.busyConnections += difference } }

    private func accept(_ descriptor: Int32) {
        var number = 0
        change {
            guard !$0.isStopping else { return }
            $0.counters.connectionCount += 1
            $0.counters.openConnections += 1
            number = $0.counters.connectionCount
        }
        guard number > 0 else { return Platform.closeDescriptor(descriptor) }
        let code = run { [number] core in
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
        lock.withLock { threads += 1 }
        let code = NativeThread.start(stackSize: 512 << 10) {
            Thread.current.name = "ness.testserver"
            body(self)
            self.change { $0.threads -= 1 }
        }
        if code != 0 { change { $0.threads -= 1 } }
        return code
    }

    private func change(_ body: (ServerCore) -> Void) {
        lock.withLock { body(self) }
        changed.notify()
    }
}
