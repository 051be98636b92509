import Foundation
import NessHTTP

/// A one-time switch between a test and a handler or script of a `TestServer`. It is closed at first, and stays open after `open()`.
///
/// Gates order events, so a test never sleeps. The server's script waits at `.wait(gate)` until the test opens that gate. With
/// `.signal(gate)` the script notifies the test that it has reached this step.
///
/// ```swift
/// let received = TestGate(), go = TestGate()
/// let server = try await TestServer.start(script: { _ in
///     [.receiveRequest, .signal(received), .wait(go), .respond(.text("late"))]
/// })
/// // … send a request …
/// await received.wait()   // the server has it
/// go.open()               // now it responds
/// ```
public final class TestGate: @unchecked Sendable {
    // `lock` guards `opened`, `waiting` and `wakeUps`.
    private let lock = NSLock()
    private var opened = false
    private var waiting = WaiterQueue<Waiter>()
    private var wakeUps: [ObjectIdentifier: WakePipe] = [:]

    /// Makes a closed gate.
    public init() {}

    /// True if the gate is open.
    public var isOpen: Bool { lock.withLock { opened } }

    /// Opens the gate and resumes all that wait at it. Further calls do nothing. Callable from any thread.
    public func open() {
        let (waiters, pipes) = lock.withLock {
            opened = true
            let pipes = Array(wakeUps.values)
            wakeUps.removeAll()
            return (waiting.takeAll(), pipes)
        }
        for waiter in waiters { waiter.resume() }
        for pipe in pipes { pipe.wake() }
    }

    /// Suspends until the gate is open. Returns immediately if the gate is open already, or if the waiting task is canceled.
    public func wait() async {
        let waiter: Waiter? = lock.withLock {
            opened ? nil : waiting.join { id in Waiter { [self] in lock.withLock { _ = waiting.leave(id) } } }
        }
        try? await waiter?.wait()
    }

    /// Registers a pipe that `open()` wakes; a connection's thread polls it. If the gate is open, the pipe is woken immediately.
    func addWakeUp(_ pipe: WakePipe) {
        let isOpen = lock.withLock {
            if !opened { wakeUps[ObjectIdentifier(pipe)] = pipe }
            return opened
        }
        if isOpen { pipe.wake() }
    }

    /// Removes a pipe.
    func removeWakeUp(_ pipe: WakePipe) {
        lock.withLock { _ = wakeUps.removeValue(forKey: ObjectIdentifier(pipe)) }
    }
}
