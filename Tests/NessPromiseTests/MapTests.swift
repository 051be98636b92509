import NessPromise
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct MapTests {
    @Test("compactMap maps a value; nil fails, and an error skips the closure")
    func compactMap() async throws {
        #expect(try await Promise.resolved("7").compactMap { Int($0) }.value == 7)
        #expect(await Promise.resolved("seven").compactMap { Int($0) }.failure(as: PromiseError.self) == .noValue)
        #expect(await Promise<String>.rejected(Failure()).compactMap { Int($0) }.failure(as: Failure.self) == Failure())
        let thrown = Promise.resolved("7").compactMap(on: .immediate) { text -> Int? in throw Failure(name: text) }
        #expect(await thrown.failure(as: Failure.self) == Failure(name: "7"))
    }

    @Test("all with a limit keeps the order of the items, and starts the next item when an earlier one has its value")
    func limited() async throws {
        let pairs = (0..<6).map { _ in Promise<Int>.pending() }
        let begun = Log<Int>()
        let steps = AsyncStream<Int>.makeStream()
        let all = Promise.all(0..<6, atOnce: 2) { item -> Promise<Int> in
            begun.add(item)
            steps.continuation.yield(item)
            return pairs[item].0
        }
        var next = steps.stream.makeAsyncIterator()
        let first = [await next.next(), await next.next()]
        #expect(Set(first) == [0, 1])
        for item in 2..<6 {
            // The second of the two stays pending, so exactly one item starts.
            pairs[item == 2 ? 1 : item - 1].1.resolve(item == 2 ? 10 : (item - 1) * 10)
            #expect(await next.next() == item)
            #expect(begun.entries.count == item + 1)
        }
        pairs[5].1.resolve(50)
        #expect(!all.isCompleted)
        pairs[0].1.resolve(0)
        #expect(try await all.value == [0, 10, 20, 30, 40, 50])
    }

    @Test("all takes asynchronous closures, any limit, and no items", arguments: [Int.min, 0, 1, 3, .max])
    func asynchronous(limit: Int) async throws {
        let squares = Promise.all([1, 2, 3, 4], atOnce: limit) { item in
            await Task.yield()
            return item * item
        }
        #expect(try await squares.value == [1, 4, 9, 16])
        let plain = Promise.all([1, 2], atOnce: limit) { $0 + 1 }
        #expect(try await plain.value == [2, 3])
        #expect(try await Promise.all([Int](), atOnce: limit) { item in try await Promise.resolved(item).value }.value.isEmpty)
    }

    @Test("the first error of an item ends all, drops the pending items, and starts no other")
    func fails() async {
        let (pending, resolver) = Promise<Int>.pending()
        let (failing, failure) = Promise<Int>.pending()
        let begun = Log<Int>()
        let both = AsyncStream<Void>.makeStream()
        let all = Promise.all(0..<100, atOnce: 2) { item -> Promise<Int> in
            begun.add(item)
            both.continuation.yield()
            return item == 0 ? pending : failing
        }
        var next = both.stream.makeAsyncIterator()
        _ = (await next.next(), await next.next())
        failure.reject(Failure())
        #expect(await all.failure(as: Failure.self) == Failure())
        #expect(await pending.failure(as: PromiseError.self) == .dropped)
        #expect(begun.entries.sorted() == [0, 1])
        _ = resolver
    }

    @Test("a drop of all ends it immediately, drops the pending items and starts no other, even if a closure ignores the cancellation")
    func dropped() async {
        let (pending, resolver) = Promise<Int>.pending()
        let begun = Log<Int>()
        let both = AsyncStream<Void>.makeStream()
        let gate = AsyncStream<Void>.makeStream()
        let ended = AsyncStream<Void>.makeStream()
        let promised = Promise.all(0..<100, atOnce: 1) { item -> Promise<Int> in
            begun.add(item)
            both.continuation.yield()
            return pending
        }
        let stubborn = Promise.all(0..<100, atOnce: 1) { item in
            begun.add(item)
            both.continuation.yield()
            await Task { for await _ in gate.stream {} }.value
            ended.continuation.yield()
            return item
        }
        var next = both.stream.makeAsyncIterator()
        _ = (await next.next(), await next.next())
        promised.drop()
        stubborn.drop()
        #expect(promised.error as? PromiseError == .dropped)
        #expect(stubborn.error as? PromiseError == .dropped)
        #expect(await pending.failure(as: PromiseError.self) == .dropped)
        gate.continuation.finish()
        for await _ in ended.stream { break }
        #expect(begun.entries == [0, 0])
        _ = resolver
    }

    @Test("thenMap runs a closure with each element, and keeps the order")
    func thenMap() async throws {
        let promises = Promise.resolved([1, 2, 3]).thenMap { Promise.resolved($0 * 2) }
        #expect(try await promises.value == [2, 4, 6])
        let values = Promise.resolved(1...3).thenMap(atOnce: 2) { item in
            await Task.yield()
            return "\(item)"
        }
        #expect(try await values.value == ["1", "2", "3"])
        #expect(await Promise.resolved([1]).thenMap { _ in Promise<Int>.rejected(Failure()) }.failure(as: Failure.self) == Failure())
        #expect(await Promise<[Int]>.rejected(Failure()).thenMap { Promise.resolved($0) }.failure(as: Failure.self) == Failure())
    }
}
