import Dispatch
import NessPromise
import TestSupport
import Testing

@Suite struct CombineTests {
    @Test("all waits for any number of promises of different types")
    func allPack() async throws {
        let triple = try await Promise.all(Promise.resolved(1), Promise { "two" }, Promise.resolved(3.0).delayed(by: .zero)).value
        #expect(triple == (1, "two", 3.0))
        let five = try await Promise.all(
            Promise.resolved(1), Promise.resolved(2), Promise.resolved("3"), Promise.resolved(4), Promise.resolved(true)
        ).value
        #expect(five.2 == "3" && five.4)
    }

    @Test("all keeps the order of an array; an empty array gives an empty result")
    func allArray() async throws {
        let pairs = (0..<100).map { _ in Promise<Int>.pending() }
        let all = Promise.all(pairs.map(\.0))
        for (index, pair) in pairs.enumerated().reversed() { pair.1.resolve(index) }
        #expect(try await all.value == Array(0..<100))
        #expect(try await Promise.all([Promise<Int>]()).value.isEmpty)
    }

    @Test("all fails with the first error, even while an earlier promise is pending, and drops the rest")
    func allFails() async {
        let dropped = Log<Int>()
        let (never, resolver) = Promise<Int>.pending { _ in dropped.add(1) }
        let (bad, badResolver) = Promise<Int>.pending()
        let all = Promise.all([never, bad])
        badResolver.reject(Failure())
        #expect(await all.failure(as: Failure.self) == Failure())
        #expect(dropped.entries == [1])
        _ = resolver
    }

    @Test("after a drop of the promise that failed, a handler after all sees the drop, even if the error had arrived")
    func dropAfterFailure() async {
        let queue = DispatchQueue(label: "failure"), seen = Log<String>()
        let (bad, resolver) = Promise<Int>.pending()
        let all = Promise.all([bad, .resolved(1)])
        queue.suspend()
        all.handle(on: queue) { error in seen.add("\(error)") }
        resolver.reject(Failure())
        #expect(all.isCompleted)
        bad.drop()
        queue.resume()
        await queue.flush()
        await queue.flush()
        #expect(seen.entries == ["the promise was dropped"])
    }

    @Test("promises that are kept release the promise that all made of them")
    func allIsReleased() {
        let pairs = (0..<2).map { _ in Promise<Int>.pending() }
        weak var released: Promise<[Int]>?
        do {
            let all = Promise.all(pairs.map(\.0))
            released = all
            for pair in pairs { pair.1.resolve(1) }
            #expect(all.result == [1, 1])
        }
        #expect(released == nil)
        #expect(pairs.map(\.0.result) == [1, 1])
    }

    @Test("dropping the result of all drops its promises, unless they have another waiter")
    func allDropped() {
        let dropped = Log<Int>()
        let (first, firstResolver) = Promise<Int>.pending { _ in dropped.add(1) }
        let (second, secondResolver) = Promise<String>.pending { _ in dropped.add(2) }
        let other = second.then { $0 }
        Promise.all(first, second).drop()
        #expect(dropped.entries == [1])
        #expect(!other.isCompleted)
        _ = (firstResolver, secondResolver)
    }

    @Test("race takes the first outcome, a value or an error, and drops the losers")
    func race() async throws {
        let dropped = Log<Int>()
        let (never, resolver) = Promise<Int>.pending { _ in dropped.add(1) }
        #expect(try await Promise.race([never, .resolved(2)]).value == 2)
        #expect(dropped.entries == [1])
        let (pending, pendingResolver) = Promise<Int>.pending()
        #expect(await Promise.race([pending, .rejected(Failure())]).failure(as: Failure.self) == Failure())
        #expect(try await Promise.race(Promise.resolved(3), Promise.resolved(4)).value == 3)
        #expect(await Promise<Int>.race([]).failure(as: PromiseError.self) == .noPromises)
        _ = (resolver, pendingResolver)
    }

    @Test("any takes the first value, and fails only if every promise fails")
    func any() async throws {
        #expect(try await Promise.any([.rejected(Failure()), .resolved(1)]).value == 1)
        let none = Promise<Int>.any([.rejected(Failure(name: "a")), .rejected(Failure(name: "b"))])
        #expect(await none.failure(as: Failure.self)?.name == "b")
        #expect(await Promise<Int>.any([]).failure(as: PromiseError.self) == .noPromises)
    }

    @Test("allSettled reports every outcome in order")
    func allSettled() async throws {
        let (late, resolver) = Promise<Int>.pending()
        async let all = Promise.allSettled([late, .rejected(Failure()), .resolved(3)])
        resolver.resolve(1)
        let outcomes = await all
        #expect(outcomes.map { try? $0.get() } == [1, nil, 3])
    }

    @Test("delayed passes values later and errors immediately; a drop ends the delay")
    func delayed() async throws {
        #expect(try await Promise.resolved(1).delayed(by: .milliseconds(1)).value == 1)
        #expect(await Promise<Int>.rejected(Failure()).delayed(by: .seconds(1_000)).failure(as: Failure.self) == Failure())
        let late = Promise.resolved(1).delayed(by: .seconds(1_000_000_000_000))
        #expect(!late.isCompleted)
        late.drop()
        #expect(late.error as? PromiseError == .dropped)
    }

    @Test("timeout fails in time, and drops the promise that it waited for")
    func timeout() async {
        let dropped = Log<Int>()
        let (never, resolver) = Promise<Int>.pending { _ in dropped.add(1) }
        let timed = never.timeout(after: .milliseconds(1))
        #expect(await timed.failure(as: PromiseError.self) == .timedOut)
        #expect(dropped.entries == [1])
        // A late value changes nothing.
        resolver.resolve(1)
        #expect(timed.error as? PromiseError == .timedOut)
        #expect(Promise.resolved(1).timeout(after: .zero).result == 1)
        _ = resolver
    }

    @Test("every value of Duration is accepted", arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(1)])
    func extremeDurations(duration: Duration) async {
        let (never, resolver) = Promise<Int>.pending()
        let timed = never.timeout(after: duration)
        let late = never.delayed(by: duration)
        never.drop()
        #expect(await timed.failure(as: PromiseError.self) != nil)
        #expect(await late.failure(as: PromiseError.self) == .dropped)
        _ = resolver
    }

    @Test("a resolver that is released unused rejects its promise")
    func abandoned() async {
        #expect(await Promise<Int>.pending().0.failure(as: PromiseError.self) == .abandoned)
    }
}
