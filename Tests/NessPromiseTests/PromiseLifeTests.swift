import Dispatch
import NessPromise
import TestSupport
import Testing

/// The life of a promise from its creation to its release.
@Suite struct PromiseLifeTests {
    private static let key = DispatchSpecificKey<String>()

    private static func queue(_ name: String) -> DispatchQueue {
        let queue = DispatchQueue(label: name)
        queue.setSpecific(key: key, value: name)
        return queue
    }

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

    @Test("a resolver settles its promise with a value or an error; one that is released unused rejects it")
    func resolvers() async throws {
        let (good, resolver) = Promise<Int>.pending(), (bad, rejecter) = Promise<Int>.pending()
        DispatchQueue.global().async {
            resolver.resolve(1)
            rejecter.reject(Failure())
        }
        #expect(try await good.value == 1)
        #expect(await bad.failure(as: Failure.self) == Failure())
        #expect(await Promise<Int>.pending().0.failure(as: PromiseError.self) == .abandoned)
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

    @Test("then runs on the queue that it names, or on the global queue; it does not inherit the previous one")
    func queues() async throws {
        let queue = Self.queue("own"), other = Self.queue("other")
        let name: @Sendable (Int) -> String = { _ in DispatchQueue.getSpecific(key: Self.key) ?? "-" }
        let first: Promise<String> = Promise.resolved(1).then(on: queue, name)
        let second: Promise<String> = first.then(on: other) { _ in name(2) }
        let third: Promise<String> = second.then { _ in name(3) }
        let names = [try await first.value, try await second.value, try await third.value]
        #expect(names == ["own", "other", "-"])
    }

    @Test("an error skips every then and reaches every handle, even after another handle")
    func errorPath() async {
        let log = Log<String>()
        let last = Promise<Int>.rejected(Failure()).then { $0 + 1 }.handle { _ in log.add("first") }
            .then { value -> Int in
                log.add("then")
                return value
            }
            .handle { _ in log.add("second") }
        #expect(await last.failure(as: Failure.self) == Failure())
        #expect(log.entries == ["first", "second"])
    }

    @Test("then takes an async closure, whose error becomes the chain's error")
    func asyncContinuation() async throws {
        let start = Promise.resolved(2)
        let doubled = start.thenContinue { value in Promise { try await Promise.resolved(value * 2).value } }
        #expect(try await doubled.then { "\($0)" }.value == "4")
        let failed = start.thenContinue { _ in Promise<Int> { throw Failure() } }
        #expect(await failed.failure(as: Failure.self) == Failure())
    }

    @Test("value, error, outcome and completion of a promise can be read at any time")
    func inspection() throws {
        let (promise, resolver) = Promise<Int>.pending()
        #expect(promise.result == nil && promise.error == nil && promise.outcome == nil && !promise.isCompleted)
        resolver.resolve(1)
        #expect(promise.result == 1 && promise.error == nil && promise.isCompleted)
        #expect(try promise.outcome?.get() == 1)
        let failed = Promise<Int>.rejected(Failure())
        #expect(failed.result == nil && failed.error as? Failure == Failure() && failed.isCompleted)
        #expect(throws: Failure()) { try failed.outcome?.get() }
    }

    @Test("a promise can be awaited, even a Promise<Void>; a promise can be made from an async operation")
    func awaiting() async throws {
        #expect(try await Promise.resolved(1).value == 1)
        try await Promise.resolved().value
        await #expect(throws: Failure()) { try await Promise<Void>.rejected(Failure()).value }
        let task = Task { try await Promise { 2 }.value }
        #expect(try await Promise { try await task.value }.value == 2)
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
}
