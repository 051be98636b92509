import Dispatch
import NessPromise
import TestSupport
import Testing

/// Tests the methods that settle with, wait for, and watch a whole outcome.
@Suite(.timeLimit(.minutes(15))) struct OutcomeTests {
    @Test("settled gives the value or the error, of a promise that is settled and of one that is pending")
    func settled() async throws {
        #expect(try await Promise.resolved(1).settled.get() == 1)
        #expect(await Promise<Int>.rejected(Failure()).settled.failure as? Failure == Failure())
        let (promise, resolver) = Promise<Int>.pending()
        async let late = promise.settled
        resolver.resolve(2)
        #expect(try await late.get() == 2)
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

    @Test("a canceled task that awaits settled or untilSettled drops the promise and continues", arguments: [true, false])
    func cancelled(typed: Bool) async {
        let (promise, resolver) = Promise<Int>.pending()
        let task = Task { typed ? await promise.settled.failure : await (promise as AnyPromise).untilSettled() }
        task.cancel()
        #expect(await task.value as? PromiseError == .dropped)
        #expect(promise.error as? PromiseError == .dropped)
        _ = resolver
    }

    @Test("a resolver settles its promise with a Result, with a value and an error, or with an error alone, and only once")
    func settle() async throws {
        func made<Value>(_ type: Value.Type, _ settle: (Resolver<Value>) -> Void) -> Promise<Value> {
            let (promise, resolver) = Promise<Value>.pending()
            settle(resolver)
            resolver.reject(PromiseError.cycle)
            return promise
        }
        #expect(made(Int.self) { $0.settle(Result<Int, any Error>.success(1)) }.result == 1)
        #expect(made(Int.self) { $0.settle(Result<Int, Failure>.failure(Failure())) }.error as? Failure == Failure())
        #expect(made(Int.self) { $0.settle(2, nil) }.result == 2)
        #expect(made(Int.self) { $0.settle(nil, Failure()) }.error as? Failure == Failure())
        #expect(made(Int.self) { $0.settle(3, Failure()) }.error as? Failure == Failure())
        #expect(made(Int.self) { $0.settle(nil, nil) }.error as? PromiseError == .noValue)
        // A missing value of a promise of an optional is a value.
        #expect(made(String?.self) { $0.settle(.some(nil), nil) }.result == .some(nil))
        #expect(made(Void.self) { $0.settle(nil) }.result != nil)
        // As the closure of a callback.
        func load(_ completion: @escaping @Sendable (Result<Int, Failure>) -> Void) { completion(.success(1)) }
        func loadOld(_ completion: @escaping @Sendable (Int?, (any Error)?) -> Void) { completion(2, nil) }
        #expect(made(Int.self) { load($0.settle) }.result == 1)
        #expect(made(Int.self) { loadOld($0.settle) }.result == 2)
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

    @Test("ignoringDrops leaves out drops and cancellations, but neither failures nor the reasons of drops")
    func ignoringDrops() async {
        let ran = Log<String>()
        func watch(_ promise: Promise<Int>, ignoringDrops: Bool = true) async {
            _ = await promise.handle(ignoringDrops: ignoringDrops) { _ in ran.add("handle") }.settled
            _ = await promise.handle(ignoringDrops: ignoringDrops, onMain: { _ in ran.add("main handle") }).settled
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
        let (left, leftResolver) = Promise<Int>.pending()
        left.drop(becauseOf: Failure())
        await watch(dropped, ignoringDrops: false)
        await watch(.rejected(Failure()))
        await watch(left)
        await watch(.resolved(7))
        let failed = ["handle", "main handle", "plain", "0 false", "main", "main false"]
        #expect(ran.entries == failed + failed + failed + ["plain", "7 true", "main", "main true"])
        _ = (droppedResolver, leftResolver)
    }

    @Test("allSettled gives every outcome of promises of any types, and fails only by a drop")
    func allSettled() async throws {
        let (late, resolver) = Promise<Int>.pending()
        let three = Promise.allSettled(late, Promise<String>.rejected(Failure()), Promise.resolved(true))
        #expect(!three.isCompleted)
        resolver.resolve(1)
        let outcomes = try await three.value
        #expect(try outcomes.0.get() == 1 && outcomes.2.get())
        #expect(outcomes.1.failure as? Failure == Failure())
        let dropped = Log<String>()
        let (pending, pendingResolver) = Promise<Int>.pending { _ in dropped.add("a") }
        Promise.allSettled(Promise.resolved(1), pending).drop()
        #expect(dropped.entries == ["a"])
        _ = pendingResolver
    }
}

extension Result {
    fileprivate var failure: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}
