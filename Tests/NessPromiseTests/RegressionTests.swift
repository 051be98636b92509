import Dispatch
import NessPromise
import Testing

/// The bugs of Ergo's promise, by their numbers in the inventory. BE-02 is among the drop tests.
@Suite struct PromiseRegressionTests {
    @Test("BE-01 10,000 racing pairs of settle and drop each settle once")
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

    @Test("BE-03 finally runs exactly once")
    func finallyOnce() async {
        let queue = DispatchQueue(label: "BE-03")
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

    @Test("BE-04 finally passes the outcome on: a then behind it runs on success only")
    func finallyPassesOn() async throws {
        let afterSuccess = Promise.resolved(1).finally { _, _ in }.then { $0 + 1 }
        #expect(try await afterSuccess.value == 2)
        let ran = Log<Int>()
        let afterFailure = Promise<Int>.rejected(Failure()).finally { _, _ in }.then { ran.add($0) }
        #expect(await afterFailure.failure(as: Failure.self) == Failure())
        #expect(ran.entries.isEmpty)
    }

    @Test("BE-05 a handler added while the promise settles is never missed")
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

    @Test("BE-06 30,000 promises on a concurrent queue")
    func manyOnConcurrentQueue() async throws {
        let queue = DispatchQueue(label: "BE-06", attributes: .concurrent)
        let promises = (0..<30_000).map { index in
            let (promise, resolver) = Promise<Int>.pending()
            queue.async { resolver.resolve(index) }
            return promise.then(on: queue) { $0 + 1 }
        }
        let values = try await Promise.all(promises).value
        #expect(values == Array(1...30_000))
    }

    @Test("BE-08 resolving twice is ignored")
    func resolveTwice() {
        let (promise, resolver) = Promise<Int>.pending()
        DispatchQueue.concurrentPerform(iterations: 100) { resolver.resolve($0) }
        #expect(promise.isCompleted)
    }

    @Test("BE-09 no hidden timeout, and a finished promise is freed")
    func freed() async throws {
        weak var gone: Promise<Int>?
        do {
            let (promise, resolver) = Promise<Int>.pending()
            gone = promise
            let child = promise.then { $0 + 1 }.delayed(by: .zero)
            resolver.resolve(1)
            #expect(try await child.value == 2)
        }
        // Another promise on the same queue: what ran before it has let go.
        for _ in 0..<1_000 where gone != nil { try await Promise.resolved(1).then { _ in }.value }
        #expect(gone == nil)
    }
}
