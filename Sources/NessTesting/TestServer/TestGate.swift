import Foundation

/// A one-time switch between a test and what runs on a `TestServer`: closed at first, and open for good after `open()`.
///
/// With gates a test orders events without ever sleeping: the server's script waits at `.wait(gate)` until the test opens it, and
/// `.signal(gate)` tells the test that the script has got that far.
///
/// ```swift
/// let received = TestGate(), go = TestGate()
/// let server = try await TestServer.start(script: { _ in
///     [.receiveRequest, .signal(received), .wait(go), .respond(.text("late"))]
/// })
/// // … send a request …
/// await received.wait()   // the server has it
/// go.open()               // now it answers
/// ```
public final class TestGate: @unchecked Sendable {
    // `lock` guards `opened`, `waiting` and `wakeUps`.
    private let lock = NSLock()
    private var opened = false
    private var waiting = WaiterList()
    private var wakeUps: [ObjectIdentifier: WakePipe] = [:]

    /// Makes a closed gate.
    public init() {}

    /// Whether the gate is open.
    public var isOpen: Bool { lock.withLock { opened } }

    /// Opens the gate and lets everyone who waits go on. Opening it again does nothing. Callable from any thread.
    public func open() {
        let (continuations, pipes) = lock.withLock {
            opened = true
            let pipes = Array(wakeUps.values)
            wakeUps.removeAll()
            return (waiting.takeAll(), pipes)
        }
        for continuation in continuations { continuation.resume() }
        for pipe in pipes { pipe.wake() }
    }

    /// Suspends until the gate is open. Returns at once where it already is, and when the waiting task is cancelled.
    public func wait() async {
        let ticket = lock.withLock { waiting.nextTicket() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = lock.withLock {
                    guard !opened, !Task.isCancelled else { return true }
                    waiting.add(continuation, as: ticket)
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            lock.withLock { waiting.take(ticket) }?.resume()
        }
    }

    /// Has `open()` wake a pipe that a connection's thread polls. Wakes it at once where the gate is open.
    func addWakeUp(_ pipe: WakePipe) {
        let isOpen = lock.withLock {
            if !opened { wakeUps[ObjectIdentifier(pipe)] = pipe }
            return opened
        }
        if isOpen { pipe.wake() }
    }

    /// Forgets a pipe.
    func removeWakeUp(_ pipe: WakePipe) {
        lock.withLock { _ = wakeUps.removeValue(forKey: ObjectIdentifier(pipe)) }
    }
}
