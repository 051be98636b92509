import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// The queue of one exchange's events, between the thread that reads for all exchanges and the task that takes the events.
@Suite struct CallbackQueueTests {
    private let log = Log<Int>()
    private let queue = DispatchQueue(label: "test.callbacks")

    @Test("callbacks run in the order in which they are added")
    func order() async {
        let callbacks = CallbackQueue(on: queue)
        for number in 0..<1_000 { callbacks.add { log.add(number) } }
        await log.wait(for: 1_000)
        #expect(log.entries == Array(0..<1_000))
    }

    @Test("a closed queue takes no more callbacks: it runs the waiting ones, and then the final one")
    func close() async {
        let callbacks = CallbackQueue(on: queue)
        let hold = DispatchSemaphore(value: 0)
        callbacks.add { hold.wait() }
        callbacks.add { log.add(1) }
        callbacks.close { log.add(2) }
        callbacks.add { log.add(3) }
        hold.signal()
        await log.wait(for: 2)
        queue.sync {}
        #expect(log.entries == [1, 2])
    }

    @Test("a thread that adds beyond the limit waits, and continues without adding if the exchange is abandoned")
    func closedWhileWaiting() async {
        let callbacks = CallbackQueue(on: queue)
        callbacks.onOverflow { true }
        let hold = DispatchSemaphore(value: 0)
        let added = TestGate()
        callbacks.add { hold.wait() }
        Thread {
            // One of these calls finds 128 callbacks waiting.
            for number in 0..<200 { callbacks.add { log.add(number) } }
            added.open()
        }.start()
        callbacks.close()
        await added.wait()
        hold.signal()
        queue.sync {}
        #expect(log.entries.count < 200)
        #expect(log.entries == Array(0..<log.entries.count))
    }

    @Test("if callbacks arrive faster than they run, the exchange may be abandoned, and only the waiting ones remain")
    func overflow() async {
        let callbacks = CallbackQueue(on: queue)
        let hold = DispatchSemaphore(value: 0)
        let asked = TestGate()
        callbacks.onOverflow {
            callbacks.close { log.add(-1) }
            asked.open()
            return true
        }
        callbacks.add { hold.wait() }
        Thread { for number in 0..<200 { callbacks.add { log.add(number) } } }.start()
        await asked.wait()
        hold.signal()
        await log.wait(for: 128)
        #expect(log.entries == Array(0..<127) + [-1])
    }

    @Test("callbacks of an exchange that cannot be abandoned are always taken")
    func unlimited() async {
        let callbacks = CallbackQueue(on: queue)
        let hold = DispatchSemaphore(value: 0)
        callbacks.add { hold.wait() }
        for number in 0..<1_000 { callbacks.add { log.add(number) } }
        hold.signal()
        await log.wait(for: 1_000)
        #expect(log.entries == Array(0..<1_000))
    }
}
