import Dispatch
import NessPromise
import TestSupport
import Testing

@Suite(.serialized) struct ChainTests {
    static let length = 50_000

    /// Builds and awaits a chain on a thread with a small stack, which recursion would overflow.
    private func longChain(_ build: @escaping @Sendable (Promise<Int>) -> Promise<Int>) async -> Int? {
        await onThread {
            let (root, resolver) = Promise<Int>.pending()
            var last = root
            for _ in 0..<Self.length { last = build(last) }
            resolver.resolve(0)
            return try? last.wait(timeout: .seconds(60))
        }
    }

    private static let links: [(name: String, build: @Sendable (Promise<Int>) -> Promise<Int>)] = [
        ("then", { $0.then { $0 + 1 } }), ("then(on: .immediate)", { $0.then(on: .immediate) { $0 + 1 } }),
        ("thenContinue", { $0.thenContinue { Promise.resolved($0 + 1) } }),
    ]

    @Test("a chain of 50,000 handlers settles without overflowing the stack", arguments: links.map(\.name))
    func settle(name: String) async throws {
        let link = try #require(Self.links.first { $0.name == name })
        #expect(await longChain(link.build) == Self.length)
    }

    @Test("a drop at the end of a chain of 50,000 drops all of them, and releases them")
    func drop() async {
        let isDropped = await onThread { () -> Bool in
            let (root, resolver) = Promise<Int>.pending()
            var last = root
            for _ in 0..<Self.length { last = last.then { $0 + 1 } }
            last.drop()
            _ = resolver
            return root.error as? PromiseError == .dropped
        }
        #expect(isDropped)
    }

    @Test("a pending chain of 50,000 is released with its resolver")
    func release() async {
        let error = await onThread { () -> (any Error)? in
            var chain: (Promise<Int>, Resolver<Int>)? = Promise<Int>.pending()
            var last = chain!.0
            for _ in 0..<Self.length { last = last.then(on: .immediate) { $0 + 1 } }
            chain = nil
            return last.error
        }
        #expect(error as? PromiseError == .abandoned)
    }

    @Test("a chain on one queue is sent to it once: no other work of the queue runs in between")
    func hopsOnce() async throws {
        let queue = DispatchQueue(label: "hop")
        let order = Log<Int>()
        let (root, resolver) = Promise<Void>.pending()
        let last = root.then(on: queue) { queue.async { order.add(99) } }
            .then(on: queue) { order.add(1) }
            .then(on: .immediate) { order.add(2) }
            .then(on: queue) { order.add(3) }
        resolver.resolve(())
        try await last.value
        await queue.flush()
        #expect(order.entries == [1, 2, 3, 99])
    }

    @Test("a handler that is added to a settled promise runs after the closures that its queue already has")
    func addedLater() async {
        let queue = DispatchQueue(label: "later"), order = Log<Int>()
        let (root, resolver) = Promise<Int>.pending()
        let first = root.then(on: queue) { $0 }
        root.then(on: queue) { _ in
            queue.async { order.add(1) }
            first.then(on: queue) { _ in order.add(2) }
        }
        resolver.resolve(1)
        await queue.flush()
        await queue.flush()
        #expect(order.entries == [1, 2])
    }

    @Test("a handler that is added after earlier ones have run runs as well, even if their promises have handlers left", arguments: [1, 2])
    func addedAfterOthers(count: Int) async {
        let queue = DispatchQueue(label: "others"), held = DispatchQueue(label: "held")
        let promise = Promise.resolved(1)
        queue.suspend()
        held.suspend()
        for _ in 0..<count { promise.then(on: queue) { $0 }.then(on: held) { $0 } }
        queue.resume()
        await queue.flush()
        let later = promise.then(on: queue) { $0 + 1 }
        await queue.flush()
        #expect(later.result == 2)
        held.resume()
    }

    @Test("handlers of a promise that wait for the same queue are sent to it together")
    func sentTogether() async {
        // The queue stops after the closure that runs the handlers. Another closure for them would keep the promise.
        let base = DispatchQueue(label: "base"), queue = DispatchQueue(label: "together", target: base)
        weak var released: Promise<Int>?
        queue.suspend()
        do {
            let promise = Promise.resolved(1)
            released = promise
            for index in 0..<3 { promise.then(on: queue) { _ in if index == 2 { queue.suspend() } } }
        }
        queue.resume()
        await base.flush()
        #expect(released == nil)
        queue.resume()
    }

    @Test("a drop of a chain of 5,000 tasks that each await the promise before does not overflow the stack")
    func dropTasks() async {
        let (root, resolver) = Promise<Int>.pending()
        var chain = [root]
        for _ in 0..<5_000 {
            let previous = chain[chain.count - 1]
            chain.append(Promise { try await previous.value + 1 })
        }
        let last = chain.removeLast()
        await untilTrue { [chain] in chain.allSatisfy { $0.waiterCount > 0 } }
        await onThread { last.drop() }
        // A wait would be a waiter, which keeps the promise.
        await untilTrue { root.isCompleted }
        #expect(root.error as? PromiseError == .dropped)
        _ = resolver
    }

    @Test("50,000 nested drops, each after the drop of another promise, do not overflow the stack")
    func dropInsideDrop() async {
        let dropped = Log<Int>()
        var sides = [Promise<Int>.pending { _ in }]
        var chain = [Promise<Int>.pending { _ in dropped.add(1) }]
        for _ in 0..<Self.length {
            let side = sides[sides.count - 1].promise, previous = chain[chain.count - 1].promise
            chain.append(
                Promise<Int>.pending { _ in
                    side.drop()
                    previous.drop()
                })
            sides.append(Promise<Int>.pending { _ in })
        }
        let last = chain[chain.count - 1].promise
        await onThread { last.drop() }
        await dropped.wait(for: 1)
        #expect(dropped.entries == [1])
        _ = (sides, chain)
    }
}
