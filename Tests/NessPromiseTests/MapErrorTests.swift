import Dispatch
import NessPromise
import TestSupport
import Testing

/// Promises whose errors are changed, even those of drops.
@Suite(.timeLimit(.minutes(15))) struct MapErrorTests {
    /// The error of another one, as an SDK would hide it.
    private struct Hidden: Error, Equatable {
        let text: String

        init(_ error: any Error) { text = (error as? Failure)?.name ?? "\(error)" }
    }

    private func text(_ promise: AnyPromise) -> String? { (promise.error as? Hidden)?.text }

    @Test("an error is changed, and a value is not")
    func outcome() async throws {
        #expect(try await Promise.resolved(1).mapError { Hidden($0) }.value == 1)
        await #expect(throws: Hidden(Failure(name: "a"))) {
            try await Promise<Int>.rejected(Failure(name: "a")).mapError { Hidden($0) }.then { $0 + 1 }.value
        }
    }

    @Test("a drop of the promise, or of one below it, ends with the changed error; the promise above keeps its own")
    func drop() {
        for depth in 0...2 {
            let dropped = Log<PromiseError?>()
            let (above, resolver) = Promise<Int>.pending(onDrop: { dropped.add($0 as? PromiseError) })
            let mapped = above.mapError { Hidden($0) }
            var last = mapped
            for _ in 0..<depth { last = last.then { $0 } }
            last.drop()
            #expect(text(mapped) == "the promise was dropped" && text(last) == text(mapped))
            #expect(above.error as? PromiseError == .dropped && dropped.entries == [.dropped])
            resolver.resolve(1)
        }
    }

    @Test("a drop of the promise above ends with the changed error, even for a handler that has not started")
    func dropAbove() async {
        for isSettled in [false, true] {
            let (above, resolver) = Promise<Int>.pending()
            let queue = DispatchQueue(label: "suspended"), log = Log<String?>()
            queue.suspend()
            let mapped = above.mapError { Hidden($0) }
            let last = mapped.then(on: queue) { $0 }
            last.handle(on: queue) { log.add(($0 as? Hidden)?.text) }
            if isSettled { resolver.resolve(1) }
            above.drop()
            queue.resume()
            await log.wait(for: 1)
            #expect(log.entries == ["the promise was dropped"] && text(last) == "the promise was dropped")
            #expect(isSettled == (mapped.error == nil))
            resolver.resolve(1)
        }
    }

    @Test("the reason that a caller gives for the drop of the promise stays, and that for the drop of the promise above is changed")
    func reason() {
        let (above, resolver) = Promise<Int>.pending()
        let mapped = above.mapError { Hidden($0) }
        mapped.drop(becauseOf: Failure(name: "mine"))
        #expect((mapped.error as? Failure)?.name == "mine" && (above.error as? Failure)?.name == "mine")
        let (other, otherResolver) = Promise<Int>.pending()
        let changed = other.mapError { Hidden($0) }
        other.drop(becauseOf: Failure(name: "theirs"))
        #expect(text(changed) == "theirs")
        resolver.resolve(1)
        otherResolver.resolve(1)
    }

    @Test("a task that is canceled while it waits gets the changed error, and drops the work above")
    func canceledTask() async {
        let dropped = Log<Int>()
        let (above, resolver) = Promise<Int>.pending(onDrop: { _ in dropped.add(1) })
        let mapped = above.mapError { Hidden($0) }.then { $0 }
        let task = Task { try await mapped.value }
        await untilTrue { mapped.waiterCount == 1 }
        task.cancel()
        await #expect(throws: Hidden(PromiseError.dropped)) { try await task.value }
        await dropped.wait(for: 1)
        resolver.resolve(1)
    }

    @Test("a promise that something else waits for is not dropped with the changed one")
    func sideways() async throws {
        let (above, resolver) = Promise<Int>.pending()
        let other = above.then { $0 + 1 }
        above.mapError { Hidden($0) }.drop()
        resolver.resolve(1)
        #expect(try await other.value == 2)
    }

    @Test("errors can be changed more than once, from the top to the bottom")
    func twice() {
        let (above, resolver) = Promise<Int>.pending()
        let mapped = above.mapError { Failure(name: "1\($0)") }.then { $0 }.mapError { Failure(name: "2" + (($0 as? Failure)?.name ?? "")) }
        mapped.drop()
        #expect((mapped.error as? Failure)?.name == "21the promise was dropped")
        resolver.resolve(1)
    }

    @Test("handlers that ignore drops skip a drop that became a cancellation")
    func ignored() async {
        let log = Log<String>()
        let (above, resolver) = Promise<Int>.pending()
        let mapped = above.mapError { error in error as? PromiseError == .dropped ? CancellationError() : error }
        let handled = mapped.handle(on: .immediate, ignoringDrops: true) { _ in log.add("handled") }
        let ended = mapped.handle(on: .immediate) { _ in log.add("ended") }
        above.drop()
        await log.wait(for: 1)
        #expect(log.entries == ["ended"] && handled.isCompleted && ended.isCompleted)
        resolver.resolve(1)
    }
}
