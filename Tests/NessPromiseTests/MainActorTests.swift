import Dispatch
import NessPromise
import TestSupport
import Testing

/// Tests `onMain:` and `on: .main`. Half of each test is that the closures compile.
@Suite struct MainActorTests {
    @MainActor final class Screen {
        var lines: [String] = []
    }

    @Test("onMain: takes closures that access the main actor")
    @MainActor func onMain() async throws {
        let screen = Screen()
        let failed = Promise<Int>.rejected(Failure())
        try await Promise.resolved(1).then(onMain: { screen.lines.append("then \($0)") }).value
        _ = try? await failed.handle(onMain: { _ in screen.lines.append("handle") }).value
        _ = try await failed.recover(onMain: { _ in screen.lines.count }).value
        _ = try await Promise.resolved(1).finally(onMain: { _, _ in screen.lines.append("finally") }).value
        #expect(screen.lines == ["then 1", "handle", "finally"])
    }

    @Test("then(onMain:) with a weak self gives a promise of Void, not of an optional")
    @MainActor func weakSelf() async throws {
        let screen = Screen()
        let shown = Promise.resolved("a").then(onMain: { [weak screen] in screen?.lines = [$0] })
        let again = Promise.resolved("b").then(onMain: { [weak screen] line in screen?.lines.append(line) })
        func type<Value>(of promise: Promise<Value>) -> Any.Type { Value.self }
        #expect(type(of: shown) == Void.self && type(of: again) == Void.self)
        try await Promise.all(shown, again).then { _ in }.value
        #expect(Set(screen.lines).isSuperset(of: ["a"]))
    }

    @Test("on: .main takes any closure, and a queue that is chosen at run time", arguments: [true, false])
    func chosenQueue(isMain: Bool) async throws {
        let increment: @Sendable (Int) -> Int = { $0 + 1 }
        let value = try await Promise.resolved(1).then(on: .main, increment).then(on: isMain ? .main : .default) { $0 + 1 }
            .then(on: DispatchQueue.main) { $0 + 1 }.value
        #expect(value == 4)
    }

    @Test("without a context no handler runs on the main thread, although an overload for the main actor takes the same trailing closure")
    @MainActor func notOnMain() async throws {
        let seen = Log<Bool>(), failed = Promise<Int>.rejected(Failure()), good = Promise.resolved(1)
        let note: @Sendable () -> Void = { seen.add(isOnMainQueue()) }
        _ = try await good.then { _ in note() }.value
        _ = try await good.thenContinue { value -> Promise<Int> in
            note()
            return .resolved(value)
        }.value
        _ = try? await failed.handle { _ in note() }.value
        _ = try await failed.recover { _ -> Int in
            note()
            return 1
        }.value
        _ = try await failed.recoverContinue { _ -> Promise<Int> in
            note()
            return .resolved(1)
        }.value
        _ = try await good.finally { _, _ in note() }.value
        // The compiler solves a closure of one expression together with the call, so it takes another path than a longer closure.
        #expect(try await !good.then { _ in isOnMainQueue() }.value)
        #expect(try await !Promise<Bool>.rejected(Failure()).recover { _ in isOnMainQueue() }.value)
        #expect(try await !good.thenContinue { _ in Promise.resolved(isOnMainQueue()) }.value)
        #expect(try await !Promise<Bool>.rejected(Failure()).recoverContinue { _ in .resolved(isOnMainQueue()) }.value)
        _ = try await good.finally { seen.add($1 != nil || $0 == nil || isOnMainQueue()) }.value
        #expect(seen.entries == Array(repeating: false, count: 7))
    }
}
