import Dispatch
import NessPromise
import TestSupport
import Testing

// Serialized, because waits on shared threads are counted for the whole process.
@Suite(.serialized) struct WaitTests {
    /// Returns the error of a wait that would end in a minute.
    private static func error<Value>(ofWaitingFor promise: Promise<Value>, _ timeout: Duration = .seconds(60)) -> PromiseError? {
        do {
            try promise.wait(timeout: timeout)
            return nil
        } catch {
            return error as? PromiseError
        }
    }

    @Test("wait returns the value, or throws the error")
    func waits() async {
        let (promise, resolver) = Promise<Int>.pending()
        DispatchQueue.global().async { resolver.resolve(5) }
        #expect(await onThread { try? promise.then { $0 + 1 }.wait(timeout: .seconds(60)) } == 6)
        #expect(await onThread { Self.error(ofWaitingFor: Promise<Int>.rejected(PromiseError.cycle)) } == .cycle)
    }

    @Test(
        "wait throws when its time has passed, and leaves the promise alone",
        arguments: [Duration.zero, .milliseconds(1), .seconds(-5)])
    func timesOut(timeout: Duration) async {
        let (promise, resolver) = Promise<Int>.pending()
        #expect(await onThread { Self.error(ofWaitingFor: promise, timeout) } == .timedOut)
        resolver.resolve(1)
        #expect(promise.result == 1)
    }

    @Test("waiting on the queue that the promise needs, or on one that targets it, fails instead of hanging, each time it is tried")
    func onTargetingQueue() async {
        let base = DispatchQueue(label: "base"), queue = DispatchQueue(label: "queue", target: base)
        for needed in [base, queue, base] {
            let result = await queue.run { Self.error(ofWaitingFor: Promise.resolved(1).then(on: needed) { $0 + 1 }.then { $0 + 1 }) }
            #expect(result == .wouldDeadlock)
        }
    }

    @Test("waiting on the main queue for a handler there fails instead of hanging")
    @MainActor func onMain() {
        let chain = Promise.resolved(1).then(on: .main) { $0 + 1 }
        #expect(throws: PromiseError.wouldDeadlock) { try chain.wait(timeout: .seconds(60)) }
    }

    @Test("waiting in a handler for a later promise of the same chain fails instead of hanging")
    func insideHandler() async throws {
        let (promise, resolver) = Promise<Int>.pending()
        // A later handler of the same promise on the same queue waits for this one to end.
        let caught = promise.then { _ in Self.error(ofWaitingFor: promise.then { $0 }) }
        resolver.resolve(1)
        #expect(try await caught.value == .wouldDeadlock)
    }

    @Test("waiting in a handler for an unrelated promise works")
    func insideHandlerForAnother() async throws {
        // On a queue of its own: the waits of other suites on shared threads count for the whole process.
        let queue = DispatchQueue(label: "handler")
        let sum = Promise.resolved(1).then(on: queue) { value in
            try value + Promise { 41 }.then { $0 }.wait(timeout: .seconds(60))
        }
        #expect(try await sum.value == 42)
    }

    @Test("any number of waits on global queues end: with the value, or with wouldDeadlock")
    func onGlobalQueues() async {
        let (promise, resolver) = Promise<Int>.pending()
        let ends = Log<String>()
        let count = 64, waits = DispatchGroup()
        let chain = promise.then { $0 + 1 }
        for _ in 0..<count {
            DispatchQueue.global().async(group: waits) {
                do {
                    ends.add("\(try chain.wait(timeout: .seconds(60)))")
                } catch {
                    ends.add("\(error as? PromiseError == .wouldDeadlock)")
                }
            }
        }
        resolver.resolve(1)
        await withCheckedContinuation { done in waits.notify(queue: DispatchQueue(label: "done")) { done.resume() } }
        #expect(ends.entries.count == count)
        #expect(Set(ends.entries).isSubset(of: ["2", "true"]))
    }

    @Test(
        "a queue whose label is that of a system queue is not taken for it",
        arguments: ["com.apple.root.default-qos", "com.apple.main-thread", "com.apple.mine"])
    func labelledLikeTheSystem(label: String) async throws {
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: label), other = DispatchQueue(label: label)
        queue.setSpecific(key: key, value: true)
        let seen = Promise.resolved(0)
            .then { $0 + 1 }
            .then(on: other) { $0 + 1 }
            .then(on: queue) { _ in DispatchQueue.getSpecific(key: key) }
        #expect(try await seen.value == true)
        let result = await queue.run { Self.error(ofWaitingFor: Promise.resolved(1).then(on: queue) { $0 }) }
        #expect(result == .wouldDeadlock)
    }
}
