import Dispatch
import NessPromise
import TestSupport
import Testing

/// Tests the methods that settle with, wait for, and watch a whole outcome.
@Suite(.timeLimit(.minutes(1))) struct OutcomeTests {
    @Test("settled gives the value or the error, of a promise that is settled and of one that is pending")
    func settled() async throws {
        #expect(try await Promise.resolved(1).settled.get() == 1)
        #expect(await Promise<Int>.rejected(Failure()).settled.failure as? Failure == Failure())
        let (promise, resolver) = Promise<Int>.pending()
        async let late = promise.settled
        resolver.resolve(2)
        #expect(try await late.get() == 2)
    }

    @Test("a canceled task that awaits settled drops the promise and continues")
    func settledCancelled() async {
        let (promise, resolver) = Promise<Int>.pending()
        let task = Task { await promise.settled }
        task.cancel()
        #expect(await task.value.failure as? PromiseError == .dropped)
        #expect(promise.error as? PromiseError == .dropped)
        _ = resolver
    }

    @Test("untilSettled waits for promises of any type, and never throws")
    func untilSettled() async {
        let (late, resolver) = Promise<String>.pending()
        let promises: [AnyPromise] = [Promise.resolved(1), Promise<Int>.rejected(Failure()), late]
        let errors = Task {
            var errors: [Failure?] = []
            for promise in promises { errors.append(await promise.untilSettled() as? Failure) }
            return errors
        }
        resolver.resolve("a")
        #expect(await errors.value == [nil, Failure(), nil])
        #expect(promises.map(\.isCompleted) == [true, true, true])
    }

    @Test("a canceled task that awaits untilSettled drops the promise and continues")
    func untilSettledCancelled() async {
        let (promise, resolver) = Promise<Int>.pending()
        let task = Task { await (promise as AnyPromise).untilSettled() }
        task.cancel()
        #expect(await task.value as? PromiseError == .dropped)
        #expect(promise.error as? PromiseError == .dropped)
        _ = resolver
    }

    @Test("a resolver settles its promise with a Result, and with a value and an error, and only once")
    func settle() async throws {
        func made(_ settle: (Resolver<Int>) -> Void) -> Promise<Int> {
            let (promise, resolver) = Promise<Int>.pending()
            settle(resolver)
            resolver.resolve(0)
            return promise
        }
        #expect(made { $0.settle(Result<Int, any Error>.success(1)) }.result == 1)
        #expect(made { $0.settle(Result<Int, Failure>.failure(Failure())) }.error as? Failure == Failure())
        #expect(made { $0.settle(2, nil) }.result == 2)
        #expect(made { $0.settle(nil, Failure()) }.error as? Failure == Failure())
        #expect(made { $0.settle(3, Failure()) }.error as? Failure == Failure())
        #expect(made { $0.settle(nil, nil) }.error as? PromiseError == .noValue)
    }

    @Test("settle fits callbacks that take a Result, a value and an error, or an error alone")
    func callbacks() async throws {
        func load(_ completion: @escaping @Sendable (Result<Int, Failure>) -> Void) { completion(.success(1)) }
        func loadOld(_ completion: @escaping @Sendable (String?, (any Error)?) -> Void) { completion("a", nil) }
        func save(_ completion: @escaping @Sendable ((any Error)?) -> Void) { completion(nil) }
        let (loaded, loadedResolver) = Promise<Int>.pending()
        load(loadedResolver.settle)
        let (old, oldResolver) = Promise<String>.pending()
        loadOld(oldResolver.settle)
        // A missing value of a promise of an optional is a value.
        let (optional, optionalResolver) = Promise<String?>.pending()
        loadOld(optionalResolver.settle)
        let (saved, savedResolver) = Promise<Void>.pending()
        save(savedResolver.settle)
        #expect(loaded.result == 1)
        #expect(old.result == "a")
        #expect(optional.result == .some("a"))
        #expect(saved.isCompleted && saved.error == nil)
    }

    @Test("handle(ignoringDrops:) sees failures and the reasons of drops, but neither drops nor cancellations")
    func ignoringDrops() async {
        let seen = Log<String>()
        func watch(_ promise: Promise<Int>) async {
            _ = await promise.handle(ignoringDrops: true) { seen.add("\($0)") }.settled
            _ = await promise.handle(ignoringDrops: true, onMain: { seen.add("\($0)") }).settled
        }
        let (dropped, droppedResolver) = Promise<Int>.pending()
        dropped.drop()
        await watch(dropped)
        await watch(.rejected(CancellationError()))
        await watch(.resolved(1))
        #expect(seen.entries.isEmpty)
        await watch(.rejected(PromiseError.timedOut))
        let (left, leftResolver) = Promise<Int>.pending()
        left.drop(becauseOf: PromiseError.cycle)
        await watch(left)
        #expect(seen.entries.count == 4)
        _ = await dropped.handle(ignoringDrops: false) { seen.add("\($0)") }.settled
        #expect(seen.entries.count == 5)
        _ = (droppedResolver, leftResolver)
    }

    @Test("finally without arguments runs once after a value, an error and a drop, on the queue that it names")
    func finally() async throws {
        let ran = Log<String>()
        #expect(try await Promise.resolved(1).finally { ran.add("value") }.value == 1)
        #expect(await Promise<Int>.rejected(Failure()).finally { ran.add("error") }.failure(as: Failure.self) == Failure())
        _ = await Promise.resolved(1).finally(onMain: { @MainActor in ran.add("main") }).settled
        _ = await Promise.resolved(1).finally(onMain: { MainActor.assertIsolated() }).settled
        let queue = DispatchQueue(label: "own")
        let (promise, resolver) = Promise<Int>.pending()
        promise.finally(on: queue) { ran.add("drop") }
        promise.drop()
        await queue.flush()
        #expect(ran.entries == ["value", "error", "main", "drop"])
        let replaced = Promise.resolved(1).finally(on: .immediate) { throw Failure() }
        #expect(replaced.error as? Failure == Failure())
        _ = resolver
    }

    @Test("finally(ignoringDrops:) runs after values, failures and the reasons of drops, but neither after drops nor after cancellations")
    func finallyIgnoringDrops() async {
        let ran = Log<String>()
        func watch(_ promise: Promise<Int>, ignoringDrops: Bool = true) async {
            _ = await promise.finally(ignoringDrops: ignoringDrops) { ran.add("plain") }.settled
            _ = await promise.finally(ignoringDrops: ignoringDrops) { value, error in ran.add("\(value ?? 0) \(error == nil)") }.settled
            _ = await promise.finally(ignoringDrops: ignoringDrops, onMain: { ran.add("main") }).settled
            _ = await promise.finally(ignoringDrops: ignoringDrops, onMain: { value, error in ran.add("main \(error == nil)") }).settled
        }
        let (dropped, droppedResolver) = Promise<Int>.pending()
        dropped.drop()
        await watch(dropped)
        await watch(.rejected(CancellationError()))
        #expect(ran.entries.isEmpty)
        await watch(dropped, ignoringDrops: false)
        await watch(.rejected(Failure()))
        let (left, leftResolver) = Promise<Int>.pending()
        left.drop(becauseOf: Failure())
        await watch(left)
        let failed = ["plain", "0 false", "main", "main false"]
        #expect(ran.entries == failed + failed + failed)
        await watch(.resolved(7))
        #expect(ran.entries.dropFirst(12) == ["plain", "7 true", "main", "main true"])
        _ = (droppedResolver, leftResolver)
    }

    @Test("allSettled gives every outcome of promises of any types, and fails only by a drop")
    func allSettled() async throws {
        let (late, resolver) = Promise<Int>.pending()
        let three = Promise.allSettled(late, Promise<String>.rejected(Failure()), Promise.resolved(true))
        let list: Promise<[Result<Int, any Error>]> = Promise.allSettled([late, .rejected(Failure()), .resolved(3)])
        #expect(!three.isCompleted && !list.isCompleted)
        resolver.resolve(1)
        let outcomes = try await three.value
        #expect(try outcomes.0.get() == 1 && outcomes.2.get())
        #expect(outcomes.1.failure as? Failure == Failure())
        #expect(try await list.value.map { try? $0.get() } == [1, nil, 3])
        #expect(try await Promise.allSettled([Promise<Int>]()).value.isEmpty)
        let dropped = Log<String>()
        let (pending, pendingResolver) = Promise<Int>.pending { _ in dropped.add("a") }
        Promise.allSettled([pending]).drop()
        #expect(dropped.entries == ["a"])
        _ = pendingResolver
    }

    @Test("race takes promises one by one")
    func race() async throws {
        let (never, resolver) = Promise<Int>.pending()
        #expect(try await Promise.race(never, Promise.resolved(2)).value == 2)
        #expect(never.error as? PromiseError == .dropped)
        #expect(await Promise<Int>.race().failure(as: PromiseError.self) == .noPromises)
        _ = resolver
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
