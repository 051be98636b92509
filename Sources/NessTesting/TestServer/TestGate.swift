import Foundation
import NessLock

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
public final class TestGate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var wakeUps: [ObjectIdentifier: WakePipe] = [:]
    }

    private let state = Lock(State())
    private let changed = ChangeSignal()

    /// Makes a closed gate.
    public init() {}

    /// True if the gate is open.
    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Opens the gate and resumes all that wait at it. Further calls do nothing. Callable from any thread.
    public func open() {
        let pipes = state.withLock { state in
            defer { state = State(isOpen: true) }
            return state.wakeUps.values
        }
        changed.notify()
        for pipe in pipes { pipe.wake() }
    }

    /// Suspends until the gate is open. Returns immediately if the gate is open already, or if the waiting task is canceled.
    public func wait() async { await changed.wait { isOpen } }

    /// Registers a pipe that `open()` wakes; a connection's thread polls it. If the gate is open, the pipe is woken immediately.
    func addWakeUp(_ pipe: WakePipe) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.wakeUps[ObjectIdentifier(pipe)] = pipe }
            return state.isOpen
        }
        if isOpen { pipe.wake() }
    }

    /// Removes a pipe.
    func removeWakeUp(_ pipe: WakePipe) { state.withLock { _ = $0.wakeUps.removeValue(forKey: ObjectIdentifier(pipe)) } }
}
