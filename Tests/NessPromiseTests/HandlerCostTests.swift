import Dispatch
import NessPromise
import TestSupport
import Testing

/// Counts the links that a promise visits, so that no test depends on the speed of the machine.
@Suite struct HandlerCostTests {
    static let count = 10_000

    /// Makes a promise with one more handler, on a queue that does not run yet. The promise therefore keeps its links, and with them the
    /// count.
    private func heldPromise() -> (promise: Promise<Int>, resolver: Resolver<Int>, gate: DispatchQueue) {
        let (promise, resolver) = Promise<Int>.pending()
        let gate = DispatchQueue(label: "gate")
        gate.suspend()
        promise.then(on: gate) { _ in }
        return (promise, resolver, gate)
    }

    @Test("handlers on several queues take a few steps each and keep their order", arguments: [1, 2, 3, 50], [true, false])
    func interleavedHandlers(queueCount: Int, settlesFirst: Bool) async throws {
        let (promise, resolver, gate) = heldPromise()
        let queues = (0..<queueCount).map { DispatchQueue(label: "queue \($0)") }
        let logs = queues.map { _ in Log<Int>() }
        for queue in queues { queue.suspend() }
        if settlesFirst { resolver.resolve(1) }
        for index in 0..<Self.count {
            for (queue, log) in zip(queues, logs) where queueCount < 50 || index < 200 {
                promise.then(on: queue) { _ in log.add(index) }
            }
        }
        let handlers = queueCount < 50 ? Self.count * queueCount : 200 * queueCount
        resolver.resolve(1)
        for queue in queues { queue.resume() }
        for queue in queues {
            await queue.flush()
            await queue.flush()
        }
        for log in logs { #expect(log.entries == Array(0..<handlers / queueCount)) }
        #expect(promise.stepCount < 20 * handlers)
        gate.resume()
        await gate.flush()
    }

    @Test("immediate handlers between those of a queue take a few steps each")
    func immediateHandlers() async {
        let (promise, resolver, gate) = heldPromise()
        let queue = DispatchQueue(label: "queue"), seen = Log<Int>(), immediate = Log<Int>()
        for index in 0..<Self.count {
            promise.then(on: queue) { _ in seen.add(index) }
            promise.then(on: .immediate) { _ in immediate.add(index) }
        }
        await queue.run { resolver.resolve(1) }
        await queue.flush()
        #expect(seen.entries == Array(0..<Self.count))
        #expect(immediate.entries == Array(0..<Self.count))
        #expect(promise.stepCount < 40 * Self.count)
        gate.resume()
        await gate.flush()
    }

    @Test("adding and removing a handler costs the same however many handlers wait", arguments: [10, 50_000])
    func comeAndGo(waiting: Int) {
        let (promise, resolver) = Promise<Int>.pending()
        let queues = [DispatchQueue(label: "first"), DispatchQueue(label: "second")]
        for index in 0..<waiting { promise.then(on: queues[index % 2]) { _ in } }
        let before = promise.stepCount
        // A handler that is added visits no other.
        #expect(before == waiting)
        for index in 0..<Self.count { promise.then(on: queues[index % 2]) { _ in }.drop() }
        #expect(promise.stepCount - before < 20 * Self.count)
        #expect(promise.waiterCount == waiting)
        _ = resolver
    }

    @Test("queues that are no longer used leave no memory behind")
    func queuesComeAndGo() {
        let (promise, resolver) = Promise<Int>.pending()
        let kept = promise.then { $0 }
        for index in 0..<Self.count { promise.then(on: DispatchQueue(label: "queue \(index)")) { _ in }.drop() }
        #expect(promise.stepCount < 20 * Self.count)
        #expect(promise.waiterCount == 1)
        _ = (kept, resolver)
    }

    @Test("all objects for a queue of the system count as the same queue", arguments: [nil, .default, .utility] as [DispatchQoS.QoSClass?])
    func systemQueueObjects(qos: DispatchQoS.QoSClass?) async throws {
        let (promise, resolver) = Promise<Int>.pending()
        let order = Log<Int>()
        let queue = DispatchQueue(label: "other")
        let children = (0..<20).map { index in
            let context: DispatchQueue = index % 3 == 0 ? queue : qos.map { .global(qos: $0) } ?? .main
            return promise.then(on: context) { _ in if index % 3 != 0 { order.add(index) } }
        }
        resolver.resolve(1)
        try await Promise.all(children).then { _ in }.value
        #expect(order.entries == (0..<20).filter { $0 % 3 != 0 })
    }
}
