import Dispatch
import NessPromise
import TestSupport
import Testing

/// Tests handlers with asynchronous closures.
@Suite(.timeLimit(.minutes(15))) struct TaskTests {
    @TaskLocal static var local = 0

    @Test("an asynchronous closure maps a value, and the error that it throws is passed on")
    func maps() async throws {
        let other = Promise { 40 }
        #expect(try await Promise.resolved(2).then { try await other.value + $0 }.value == 42)
        let failed = Promise.resolved(1).then { value -> Int in
            await Task.yield()
            throw Failure(name: "\(value)")
        }
        #expect(await failed.failure(as: Failure.self) == Failure(name: "1"))
    }

    @Test("an error skips an asynchronous then, and a value skips an asynchronous recover")
    func passes() async throws {
        let ran = Log<String>()
        let failed = Promise<Int>.rejected(Failure()).then { value in
            await Task.yield()
            ran.add("then \(value)")
        }
        #expect(await failed.failure(as: Failure.self) == Failure())
        let kept = Promise.resolved(1).recover { error in
            await Task.yield()
            ran.add("recover \(error)")
            return 2
        }
        #expect(try await kept.value == 1)
        #expect(ran.entries.isEmpty)
        let recovered = Promise<Int>.rejected(Failure()).recover { _ in
            await Task.yield()
            return 3
        }
        #expect(try await recovered.value == 3)
    }

    @MainActor private static var shown = 0
    @MainActor private static func show(_ value: Int) { shown = value }

    @Test("a synchronous function that is passed by name runs as a handler, and an asynchronous one as a task")
    func named() async throws {
        @Sendable func isTask(_: Int) throws -> Bool { withUnsafeCurrentTask { $0 != nil } }
        @Sendable func isTaskToo(_ value: Int) async throws -> Bool { try isTask(value) }
        func makeOutsideOfTask() -> Promise<Bool> { Promise.resolved(1).then(isTask) }
        #expect(try await !Promise.resolved(1).then(isTask).value)
        #expect(try await !makeOutsideOfTask().value)
        #expect(try await !Promise.resolved(1).then { try isTask($0) }.value)
        #expect(try await Promise.resolved(1).then(isTaskToo).value)
        try await Promise.resolved(3).then(onMain: Self.show).value
        #expect(await Self.shown == 3)
    }

    @Test("a main-actor closure that awaits runs on the main actor")
    @MainActor func mainActor() async throws {
        var seen = 0
        try await Promise.resolved(1).then { @MainActor value in
            await Task.yield()
            seen = value
        }.value
        #expect(seen == 1)
    }

    @Test("a closure inherits nothing from the task that settles its promise")
    func inheritsNothing() async throws {
        let (promise, resolver) = Promise<Int>.pending()
        let seen = promise.then { _ in
            await Task.yield()
            return Self.local
        }
        Self.$local.withValue(1) { resolver.resolve(0) }
        #expect(try await seen.value == 0)
    }

    @Test("a drop cancels the task, settles the promise immediately, and leaves other branches alone", arguments: [true, false])
    func dropCancels(dropsRoot: Bool) async throws {
        let (started, startedResolver) = Promise<Void>.pending()
        let (gate, gateResolver) = Promise<Void>.pending()
        let (cancelled, cancelledResolver) = Promise<Bool>.pending()
        let root = Promise.resolved(1)
        let other = root.then { $0 + 1 }
        let child = root.then { value -> Int in
            startedResolver.resolve(())
            // Not `gate.value`: the cancellation would end that wait, and this closure has to ignore the drop.
            await withCheckedContinuation { continuation in gate.finally(on: .immediate) { _, _ in continuation.resume() } }
            cancelledResolver.resolve(Task.isCancelled)
            return value
        }
        let seen = Log<String>()
        child.finally(on: .immediate) { value, error in seen.add("\(value as Any) \(error is PromiseError)") }
        try await started.value
        _ = try await other.value
        if dropsRoot { root.drop() } else { child.drop() }
        #expect(child.error as? PromiseError == .dropped)
        #expect(seen.entries == ["nil true"])
        gateResolver.resolve(())
        #expect(try await cancelled.value)
        #expect(child.result == nil)
        #expect(other.result == 2)
    }

    @Test("a drop before the value arrives keeps the closure from running", arguments: [true, false])
    func dropBeforeStart(dropsRoot: Bool) async throws {
        let ran = Log<Int>()
        for _ in 0..<100 {
            let (root, resolver) = Promise<Int>.pending()
            let child = root.then { value -> Int in
                ran.add(value)
                return try await Promise.resolved(value).value
            }
            if dropsRoot { root.drop() } else { child.drop() }
            resolver.resolve(1)
            #expect(await child.failure(as: PromiseError.self) == .dropped)
        }
        // All tasks and handlers that could start have started.
        for _ in 0..<100 { _ = try await Promise.resolved(1).then { try await Promise.resolved($0).value }.value }
        #expect(ran.entries.isEmpty)
    }

    @Test(
        "after a drop of the root, a handler after an asynchronous one sees only the drop, even if the outcome had arrived",
        arguments: [false, true])
    func dropAfterArrival(fails: Bool) async throws {
        let queue = DispatchQueue(label: "arrival"), seen = Log<String>()
        let root = Promise.resolved(1)
        let link = root.then { value -> Int in
            await Task.yield()
            if fails { throw Failure() }
            return value
        }
        queue.suspend()
        link.then(on: queue) { _ in seen.add("value") }.handle(on: queue) { error in seen.add("\(error)") }
        _ = await link.settled
        root.drop()
        queue.resume()
        await queue.flush()
        await queue.flush()
        #expect(seen.entries == ["the promise was dropped"])
    }
}
