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
}
