import Dispatch
import NessLock
import NessPromise
import TestSupport
import Testing

/// Faults that promise libraries had: settling twice, lost handlers, leaks.
@Suite struct PromiseRegressionTests {
    @Test("10,000 racing pairs of settle and drop each settle once")
    func settleOnce() async {
        for round in 0..<10_000 {
            let (promise, resolver) = Promise<Int>.pending()
            let seen = Lock(0)
            promise.finally(on: .immediate) { _, _ in seen.withLock { $0 += 1 } }
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                if index == round % 2 { resolver.resolve(1) } else { promise.drop() }
            }
            let settled = promise.outcome
            #expect((promise.result == nil) != (promise.error == nil))
            resolver.resolve(2)
            resolver.reject(Failure())
            switch (settled, promise.outcome) {
            case (.success(let first)?, .success(let second)?): #expect(first == second)
            case (.failure?, .failure?): break
            default: Issue.record("the outcome changed")
            }
            #expect(seen.withLock { $0 } == 1)
        }
    }

    @Test("finally runs exactly once")
    func finallyOnce() async {
        let queue = DispatchQueue(label: "test")
        let count = Log<Bool>()
        let (promise, resolver) = Promise<Int>.pending()
        promise.finally(on: queue) { value, error in count.add((value == nil) != (error == nil)) }
        promise.drop()
        resolver.resolve(1)
        resolver.reject(Failure())
        promise.drop()
        await queue.flush()
        await queue.flush()
        #expect(count.entries == [true])
    }

    @Test("finally passes the outcome on, and a then after it runs only after a value")
    func finallyPassesOn() async throws {
        let afterSuccess = Promise.resolved(1).finally { _, _ in }.then { $0 + 1 }
        #expect(try await afterSuccess.value == 2)
        let ran = Log<Int>()
        let afterFailure = Promise<Int>.rejected(Failure()).finally { _, _ in }.then { ran.add($0) }
        #expect(await afterFailure.failure(as: Failure.self) == Failure())
        #expect(ran.entries.isEmpty)
    }

    @Test("a handler added while the promise settles is never missed")
    func attachRace() async throws {
        for _ in 0..<4_000 {
            let (promise, resolver) = Promise<Int>.pending()
            let children = Log<Promise<Int>>()
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                if index == 0 { resolver.resolve(1) } else { children.add(promise.then { $0 + 1 }) }
            }
            for child in children.entries { #expect(try await child.value == 2) }
        }
    }

    @Test("30,000 promises on a concurrent queue all settle")
    func manyOnConcurrentQueue() async throws {
        let queue = DispatchQueue(label: "test", attributes: .concurrent)
        let promises = (0..<30_000).map { index in
            let (promise, resolver) = Promise<Int>.pending()
            queue.async { resolver.resolve(index) }
            return promise.then(on: queue) { $0 + 1 }
        }
        let values = try await Promise.all(promises).value
        #expect(values == Array(1...30_000))
    }

    @Test("the specific values that an owner set on a queue stay unchanged")
    func queueSpecifics() async throws {
        let queue = DispatchQueue(label: "test"), key = DispatchSpecificKey<Int>()
        queue.setSpecific(key: key, value: 7)
        let seen = try await Promise.resolved(1).then(on: queue) { _ in DispatchQueue.getSpecific(key: key) }
            .then(on: queue) { first in [first, DispatchQueue.getSpecific(key: key)] }.value
        #expect(seen == [7, 7])
        #expect(await queue.run { DispatchQueue.getSpecific(key: key) } == 7)
        #expect(DispatchQueue.getSpecific(key: key) == nil)
    }

    @Test(
        "a handler of an error runs on the given queue, like a handler of a value", arguments: [true, false])
    func errorsOnTheirQueue(fails: Bool) async throws {
        let queue = DispatchQueue(label: "test"), key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let here = Log<Bool>()
        let note: @Sendable () -> Void = { here.add(DispatchQueue.getSpecific(key: key) == true) }
        let promise = fails ? Promise<Int>.rejected(Failure()) : .resolved(1)
        let last = promise.then(on: queue) { _ in note() }
            .handle(on: queue) { _ in note() }
            .finally(on: queue) { _, _ in note() }
            .recover(on: queue) { _ in note() }
        try await last.value
        #expect(here.entries == Array(repeating: true, count: fails ? 3 : 2))
    }

    @Test("canceling the awaiting task cancels the work behind the promise")
    func cancelReachesTheWork() async {
        let (cancelled, resolver) = Promise<Bool>.pending()
        let (started, startedResolver) = Promise<Void>.pending()
        let (never, neverResolver) = Promise<Void>.pending()
        let task = Task {
            try await Promise {
                startedResolver.resolve(())
                try? await never.value
                resolver.resolve(Task.isCancelled)
            }.then { 1 }.value
        }
        _ = try? await started.value
        task.cancel()
        #expect((try? await cancelled.value) == true)
        _ = await task.result
        _ = neverResolver
    }

    @Test("thenContinue does not make its promise after a drop")
    func nothingBeginsAfterADrop() async {
        let (first, resolver) = Promise<Int>.pending()
        let begun = Log<Int>()
        let chain = first.thenContinue { value -> Promise<Int> in
            begun.add(value)
            return .resolved(value)
        }
        chain.drop()
        resolver.resolve(1)
        #expect(await chain.failure(as: PromiseError.self) == .dropped)
        // All closures on the default queue have run.
        for _ in 0..<100 { _ = try? await Promise.resolved(1).then { $0 }.value }
        #expect(begun.entries.isEmpty)
    }

    @Test("resolving twice is ignored")
    func resolveTwice() {
        let (promise, resolver) = Promise<Int>.pending()
        DispatchQueue.concurrentPerform(iterations: 100) { resolver.resolve($0) }
        #expect(promise.isCompleted)
    }

    @Test("a promise has no hidden timeout, and is freed once it has settled")
    func freed() async throws {
        weak var gone: Promise<Int>?
        do {
            let (promise, resolver) = Promise<Int>.pending()
            gone = promise
            let child = promise.then { $0 + 1 }.delayed(by: .zero)
            resolver.resolve(1)
            #expect(try await child.value == 2)
        }
        // Waits for another promise on the same queue, after which earlier closures have released the promise.
        for _ in 0..<1_000 where gone != nil { try await Promise.resolved(1).then { _ in }.value }
        #expect(gone == nil)
    }
}
