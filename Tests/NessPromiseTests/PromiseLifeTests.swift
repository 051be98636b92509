import Dispatch
import NessLock
import NessPromise
import TestSupport
import Testing

/// The life of a promise from its creation to its release.
@Suite struct PromiseLifeTests {
    @Test("a promise runs a throwing closure off the main actor by default, without a hidden time limit")
    @MainActor func running() async throws {
        let (go, resolver) = Promise<Int>.pending()
        let slow = Promise { try await go.value }, onMain = Promise { @MainActor in MainActor.assertIsolated() }
        let bad = Promise<Int> { throw Failure() }
        #expect(await bad.failure(as: Failure.self) == Failure())
        try await onMain.value
        #expect(!slow.isCompleted)
        resolver.resolve(3)
        #expect(try await slow.value == 3)
        // A time limit exists only if the caller asks for one.
        let (never, unused) = Promise<Int>.pending()
        #expect(await never.timeout(after: .zero).failure(as: PromiseError.self) == .timedOut)
        _ = unused
    }

    @Test("work starts when the promise is made, kept or not, but never inside the call that makes it")
    @MainActor func beginning() async throws {
        let order = Log<String>(), (done, resolver) = Promise<Void>.pending()
        _ = Promise { @MainActor in
            order.add("work")
            resolver.resolve(())
        }
        order.add("made")
        try await done.value
        #expect(order.entries == ["made", "work"])
    }

    @Test("a promise that no variable holds lives until it settles, with its handlers")
    func retained() async throws {
        let (go, resolver) = Promise<Int>.pending(), (heard, ear) = Promise<Int>.pending()
        weak var unkept: Promise<Int>?
        do {
            let promise = Promise { try await go.value }
            promise.then { ear.resolve($0) }
            unkept = promise
        }
        #expect(unkept != nil)
        resolver.resolve(5)
        #expect(try await heard.value == 5)
    }

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

    @Test("finally passes the outcome on, and a then after it runs only after a value")
    func finallyPassesOn() async throws {
        let afterSuccess = Promise.resolved(1).finally { _, _ in }.then { $0 + 1 }
        #expect(try await afterSuccess.value == 2)
        let ran = Log<Int>()
        let afterFailure = Promise<Int>.rejected(Failure()).finally { _, _ in }.then { ran.add($0) }
        #expect(await afterFailure.failure(as: Failure.self) == Failure())
        #expect(ran.entries.isEmpty)
    }

    @Test(
        "handlers of values and errors run on the queue that they name, whose specific values stay, and else on the global queue",
        arguments: [true, false])
    func queues(fails: Bool) async throws {
        let queue = DispatchQueue(label: "test"), key = DispatchSpecificKey<Int>(), here = Log<Bool>()
        queue.setSpecific(key: key, value: 7)
        let note: @Sendable () -> Void = { here.add(DispatchQueue.getSpecific(key: key) == 7) }
        let promise = fails ? Promise<Int>.rejected(Failure()) : .resolved(1)
        let last = promise.then(on: queue) { _ in note() }
            .handle(on: queue) { _ in note() }
            .finally(on: queue) { _, _ in note() }
            .recover(on: queue) { _ in note() }
        try await last.value
        #expect(here.entries == Array(repeating: true, count: fails ? 3 : 2))
        #expect(try await last.then { DispatchQueue.getSpecific(key: key) == nil }.value)
        #expect(await queue.run { DispatchQueue.getSpecific(key: key) == 7 })
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

    @Test("a promise that is kept releases the promises of its handlers that have run")
    func handlersAreReleased() {
        let (promise, resolver) = Promise<Int>.pending()
        weak var released: Promise<Int>?
        do {
            let child = promise.then(on: .immediate) { $0 + 1 }
            released = child
        }
        #expect(released != nil)
        resolver.resolve(1)
        #expect(released == nil)
        #expect(promise.result == 1)
    }

    @Test("nothing waits for a promise any more once a task has received the value of its handler")
    func awaitedIsReleased() async throws {
        let queue = DispatchQueue(label: "awaited")
        let (promise, resolver) = Promise<Int>.pending()
        let child = promise.then(on: queue) { $0 + 1 }
        let task = Task { try await child.value }
        await untilTrue { child.waiterCount == 1 }
        resolver.resolve(1)
        #expect(try await task.value == 2)
        await queue.flush()
        #expect(promise.waiterCount == 0)
    }

    @Test("the closure of a handler is released when it has run, even if the handler's promise is kept")
    func closureIsReleased() {
        final class Token: Sendable {}
        weak var released: Token?
        let (promise, resolver) = Promise<Int>.pending()
        let child: Promise<Int>
        do {
            let token = Token()
            released = token
            child = promise.then(on: .immediate) { value -> Int in
                _ = token
                return value + 1
            }
        }
        #expect(released != nil)
        resolver.resolve(1)
        #expect(released == nil)
        #expect(child.result == 2)
    }

    @Test("a handler's value may use the promise when it is released")
    func valueUsesPromise() async {
        final class Probe: Sendable {
            let promise: Promise<Int>
            let seen: Log<Bool>

            init(_ promise: Promise<Int>, _ seen: Log<Bool>) {
                self.promise = promise
                self.seen = seen
            }

            deinit { seen.add(promise.isCompleted) }
        }
        let (promise, resolver) = Promise<Int>.pending()
        let queue = DispatchQueue(label: "last"), seen = Log<Bool>()
        queue.suspend()
        promise.then(on: .immediate) { _ in Probe(promise, seen) }
        // The promise keeps its handlers until this one has run.
        promise.then(on: queue) { _ in }
        resolver.resolve(1)
        queue.resume()
        await queue.flush()
        #expect(seen.entries == [true])
    }

    @Test("the owner of the work learns once that its promise has settled, with an error only if it was dropped")
    func owner() {
        let ends = Log<String>()
        for end in ["value", "error", "drop"] {
            let (promise, resolver) = Promise<Int>.pending()
            promise.onSettle { error in ends.add("\(end) \(error == nil)") }
            switch end {
            case "value": resolver.resolve(1)
            case "error": resolver.reject(Failure())
            default: promise.drop()
            }
            resolver.resolve(2)
        }
        #expect(ends.entries == ["value true", "error true", "drop false"])
    }

    @Test("a promise used from many threads concurrently loses no handler, and no thread sleeps forever")
    func contention() async {
        let counts = await onThread {
            (0..<200).map { _ in
                let (promise, resolver) = Promise<Int>.pending()
                let seen = Lock(0)
                DispatchQueue.concurrentPerform(iterations: 16) { index in
                    for _ in 0..<20 { promise.then(on: .immediate) { _ in seen.withLock { $0 += 1 } } }
                    if index == 7 { resolver.resolve(1) }
                }
                return seen.withLock { $0 }
            }
        }
        #expect(Set(counts) == [320])
    }
}
