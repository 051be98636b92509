import Dispatch
import NessLock
import NessPromise
import TestSupport
import Testing

/// The rules of Promises/A+ 1.1 (https://promisesaplus.com), clause by clause. If a rule is about types of JavaScript, the test shows the
/// equivalent in Swift.
@Suite struct PromisesAPlusTests {
    @Test("2.1 a pending promise may become fulfilled or rejected, and then keeps its value or its reason", arguments: [true, false])
    func settledStays(fulfills: Bool) {
        let (promise, resolver) = Promise<Int>.pending()
        #expect(!promise.isCompleted)
        if fulfills { resolver.resolve(1) } else { resolver.reject(Failure(name: "first")) }
        resolver.resolve(2)
        resolver.reject(Failure(name: "second"))
        promise.drop()
        #expect(promise.result == (fulfills ? 1 : nil))
        #expect(promise.error as? Failure == (fulfills ? nil : Failure(name: "first")))
    }

    @Test("2.2.1 both handlers are optional: then alone passes errors, handle alone passes values")
    func handlersAreOptional() async throws {
        let failed = Promise<Int>.rejected(Failure()).then { $0 + 1 }
        #expect(await failed.failure(as: Failure.self) == Failure())
        #expect(try await Promise.resolved(1).handle { _ in }.value == 1)
    }

    @Test("2.2.2.1 then's closure is called after fulfillment with the value")
    func thenGetsTheValue() async throws {
        let (promise, resolver) = Promise<Int>.pending()
        let seen = Log<Int>()
        let child = promise.then { seen.add($0) }
        #expect(seen.entries.isEmpty)
        resolver.resolve(7)
        try await child.value
        #expect(seen.entries == [7])
    }

    /// Settles a promise, with a value or with an error, from several threads.
    private func settle(_ resolver: Resolver<Int>, fulfills: Bool) {
        DispatchQueue.concurrentPerform(iterations: 8) { if fulfills { resolver.resolve($0) } else { resolver.reject(Failure()) } }
    }

    @Test(
        "2.2.2.2, 2.2.2.3, 2.2.3.2, 2.2.3.3 a closure of then or handle is called after the promise has settled, and once",
        arguments: [true, false])
    func handlersRunOnce(fulfills: Bool) async {
        let (promise, resolver) = Promise<Int>.pending()
        let queue = DispatchQueue(label: "2.2.2.2"), seen = Log<Int>()
        if fulfills { promise.then(on: queue) { _ in seen.add(1) } } else { promise.handle(on: queue) { _ in seen.add(1) } }
        await queue.flush()
        #expect(seen.entries.isEmpty)
        settle(resolver, fulfills: fulfills)
        await queue.flush()
        #expect(seen.entries == [1])
    }

    @Test("2.2.3.1 handle's closure is called after rejection with the reason")
    func handleGetsTheReason() async {
        let (promise, resolver) = Promise<Int>.pending()
        let seen = Log<Failure>()
        let child = promise.handle { if let error = $0 as? Failure { seen.add(error) } }
        resolver.reject(Failure())
        _ = try? await child.value
        #expect(seen.entries == [Failure()])
    }

    @Test("2.2.4 handlers run without the caller's code on the stack", arguments: [true, false])
    func handlersRunLater(settledFirst: Bool) async throws {
        let queue = DispatchQueue(label: "2.2.4")
        let order = Log<String>()
        let (promise, resolver) = Promise<Int>.pending()
        let child = await queue.run {
            if settledFirst { resolver.resolve(1) }
            let child = promise.then(on: queue) { _ in order.add("handler") }
            if !settledFirst { resolver.resolve(1) }
            order.add("caller")
            return child
        }
        try await child.value
        #expect(order.entries == ["caller", "handler"])
    }

    @Test("2.2.4 an .immediate handler runs inside the call that settles the promise")
    func immediateRunsAtOnce() {
        let order = Log<String>()
        let (promise, resolver) = Promise<Int>.pending()
        promise.then(on: .immediate) { _ in order.add("handler") }
        resolver.resolve(1)
        order.add("resolved")
        promise.then(on: .immediate) { _ in order.add("late handler") }
        order.add("registered")
        #expect(order.entries == ["handler", "resolved", "late handler", "registered"])
    }

    @Test("2.2.6.1, 2.2.6.2 several closures of then or handle run in the order of registration", arguments: [true, false])
    func handlersKeepOrder(fulfills: Bool) async {
        let (promise, resolver) = Promise<Int>.pending()
        let order = Log<Int>()
        func add(_ index: Int) -> Promise<Int> {
            fulfills
                ? promise.then { value in
                    order.add(index)
                    return value
                } : promise.handle { _ in order.add(index) }
        }
        let children = (0..<100).map(add)
        settle(resolver, fulfills: fulfills)
        for child in children + [add(100)] { _ = await child.settled }
        #expect(order.entries == Array(0...100))
    }

    @Test("2.2.6.1 a then closure that throws does not keep the others from running")
    func thenIsIsolated() async throws {
        let (promise, resolver) = Promise<Int>.pending()
        let bad: Promise<Int> = promise.then { _ in throw Failure() }
        let good = promise.then { $0 + 1 }
        resolver.resolve(1)
        #expect(try await good.value == 2)
        #expect(await bad.failure(as: Failure.self) == Failure())
    }

    @Test("2.2.7.2 the error that the closure throws rejects the returned promise")
    func throwRejects() async {
        let fromThen: Promise<Int> = Promise.resolved(1).then { _ in throw Failure(name: "then") }
        let fromHandle = Promise<Int>.rejected(Failure()).handle { _ in throw Failure(name: "handle") }
        let fromRecover = Promise<Int>.rejected(Failure()).recover { _ -> Int in throw Failure(name: "recover") }
        let fromFinally = Promise.resolved(1).finally { _, _ in throw Failure(name: "finally") }
        #expect(await fromThen.failure(as: Failure.self)?.name == "then")
        #expect(await fromHandle.failure(as: Failure.self)?.name == "handle")
        #expect(await fromRecover.failure(as: Failure.self)?.name == "recover")
        #expect(await fromFinally.failure(as: Failure.self)?.name == "finally")
    }

    @Test("2.2.7.3 a value passes through handlers of errors")
    func valuePasses() async throws {
        #expect(try await Promise.resolved(1).handle { _ in }.recover { _ in 2 }.value == 1)
    }

    @Test("2.2.7.4 an error passes through handlers of values, and reaches every handle, even after another handle")
    func reasonPasses() async {
        let seen = Log<String>()
        let child = Promise<Int>.rejected(Failure()).then { $0 + 1 }.handle { _ in seen.add("first") }.then { $0 + 1 }
            .handle { _ in seen.add("second") }
        #expect(await child.failure(as: Failure.self) == Failure())
        #expect(seen.entries == ["first", "second"])
    }

    @Test("2.3.1 promises that wait for each other, or for themselves, are rejected")
    func cyclicResolution() async {
        let (start, resolver) = Promise<Void>.pending()
        let own = Lock<Promise<Int>?>(nil), other = Lock<Promise<Int>?>(nil)
        let first = start.thenContinue { own.withLock { $0 } ?? .resolved(0) }
        let second = start.thenContinue { other.withLock { $0 } ?? .resolved(0) }
        let third = start.thenContinue { second }
        own.withLock { $0 = first }
        other.withLock { $0 = third }
        resolver.resolve(())
        for promise in [first, second, third] { #expect(await promise.failure(as: PromiseError.self) == .cycle) }
    }

    @Test("2.3.1 a promise may follow one that waits for the same promise in very many ways")
    func manyPaths() {
        let (root, resolver) = Promise<Int>.pending()
        var last = root
        for _ in 0..<64 { last = Promise.all([last, last]).then(on: .immediate) { $0[0] } }
        let (start, go) = Promise<Void>.pending()
        let followed = last
        let child = start.thenContinue(on: .immediate) { followed }.then(on: .immediate) { $0 + 1 }
        go.resolve(())
        resolver.resolve(1)
        #expect(child.result == 2)
    }

    @Test("2.3.2.1 a promise that follows a pending promise is pending")
    func followsPending() async throws {
        let (inner, resolver) = Promise<Int>.pending()
        let queue = DispatchQueue(label: "2.3.2.1")
        let outer: Promise<Int> = Promise.resolved(()).thenContinue(on: queue) { inner }
        await queue.flush()
        #expect(!outer.isCompleted)
        resolver.resolve(3)
        #expect(try await outer.value == 3)
    }

    @Test("2.3.2.2 a promise that follows a fulfilled promise has its value")
    func followsFulfilled() async throws {
        #expect(try await Promise.resolved(()).thenContinue { Promise.resolved(3) }.value == 3)
    }

    @Test("2.3.2.3 a promise that follows a rejected promise has its error")
    func followsRejected() async {
        let inner = Promise<Int>.rejected(Failure())
        #expect(await Promise.resolved(()).thenContinue { inner }.failure(as: Failure.self) == Failure())
        #expect(await Promise<Int>.rejected(Failure(name: "outer")).recoverContinue { _ in inner }.failure(as: Failure.self) == Failure())
    }

    @Test("2.3.3 a promise adopts another asynchronous value: an async function, not any object with a `then`")
    func adoptsAsync() async throws {
        #expect(try await Promise { 4 }.value == 4)
        #expect(await Promise<Int> { throw Failure() }.failure(as: Failure.self) == Failure())
    }

    @Test("2.2.5, 2.2.7.1, 2.3.4 the value that a closure or a function returns, of any type, fulfills the returned promise")
    func returnResolves() async throws {
        let nothing: Int? = nil
        #expect(try await Promise.resolved(1).then { $0 * 10 }.value == 10)
        #expect(try await Promise.resolved(1).then(String.init).value == "1")
        #expect(try await Promise.resolved(1).then { _ in nothing }.value == nil)
        #expect(try await Promise<Int>.rejected(Failure()).recover { _ in 5 }.value == 5)
    }
}
