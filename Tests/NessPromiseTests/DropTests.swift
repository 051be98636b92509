import Dispatch
import NessPromise
import TestSupport
import Testing

@Suite struct DropTests {
    @Test("drop ends the promise immediately, with the reason given")
    func dropEnds() {
        let (promise, resolver) = Promise<Int>.pending()
        promise.drop(becauseOf: Failure())
        resolver.resolve(1)
        #expect(promise.error as? Failure == Failure())
        let (other, otherResolver) = Promise<Int>.pending()
        other.drop()
        #expect(other.error as? PromiseError == .dropped)
        otherResolver.resolve(1)
    }

    @Test("drop travels up to the work that only this promise waited for")
    func dropTravelsUp() {
        let dropped = Log<String>()
        let (root, resolver) = Promise<Int>.pending { error in dropped.add("\(error)") }
        let leaf = root.then { $0 + 1 }.then { try await Promise.resolved($0).value }.then { $0 + 1 }
        leaf.drop()
        #expect(dropped.entries == ["the promise was dropped"])
        #expect(root.error as? PromiseError == .dropped)
        resolver.resolve(1)
    }

    @Test("drop never travels sideways; that of the last of several branches drops the root")
    func dropStaysOnItsBranch() async throws {
        let (root, resolver) = Promise<Int>.pending { _ in Issue.record("the root was dropped") }
        let shared = root.then { $0 + 1 }
        let left = shared.then { $0 + 1 }
        let right = shared.then { $0 * 10 }
        left.drop()
        #expect(!shared.isCompleted)
        resolver.resolve(1)
        #expect(try await right.value == 20)
        #expect(left.error as? PromiseError == .dropped)
        let dropped = Log<Int>()
        let (other, otherResolver) = Promise<Int>.pending { _ in dropped.add(1) }
        let branches = (0..<3).map { index in other.then { $0 + index } }
        for branch in branches {
            #expect(dropped.entries.isEmpty)
            branch.drop()
        }
        #expect(dropped.entries == [1])
        _ = otherResolver
    }

    @Test("a drop reaches the promise that a closure returned")
    func dropReachesInnerPromise() async {
        let dropped = Log<Int>()
        let (inner, resolver) = Promise<Int>.pending { _ in dropped.add(1) }
        let queue = DispatchQueue(label: "inner")
        let outer = Promise.resolved(()).thenContinue(on: queue) { inner }.then { $0 }
        await queue.flush()
        outer.drop()
        #expect(dropped.entries == [1])
        _ = resolver
    }

    @Test("a promise that a closure returns after the drop is dropped")
    func innerPromiseReturnedLate() async {
        let dropped = Log<Int>()
        let (inner, resolver) = Promise<Int>.pending { _ in dropped.add(1) }
        let queue = DispatchQueue(label: "late")
        let entered = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let outer = Promise.resolved(()).thenContinue(on: queue) {
            entered.signal()
            goOn.wait()
            return inner
        }
        await onThread { entered.wait() }
        outer.drop()
        goOn.signal()
        await queue.flush()
        #expect(dropped.entries == [1])
        _ = resolver
    }

    @Test("dropping a settled promise does not reach a handler that already follows another promise")
    func dropAfterHandover() async throws {
        let (outer, outerResolver) = Promise<Int>.pending()
        let (inner, innerResolver) = Promise<Int>.pending { _ in Issue.record("the inner promise was dropped") }
        let following = outer.thenContinue(on: .immediate) { _ in inner }
        outerResolver.resolve(1)
        outer.drop()
        innerResolver.resolve(2)
        #expect(try await following.value == 2)
    }

    @Test("after drop a handler that has not started never sees success, even if the value had arrived")
    func dropAfterArrival() async {
        let queue = DispatchQueue(label: "arrival")
        let seen = Log<String>()
        let (promise, resolver) = Promise<Int>.pending()
        promise.then(on: queue) { _ in seen.add("value") }
            .handle(on: queue) { error in seen.add("\(error)") }
        await queue.run {
            resolver.resolve(1)
            promise.drop()
        }
        await queue.flush()
        await queue.flush()
        #expect(seen.entries == ["the promise was dropped"])
        #expect(promise.result == 1)
    }

    @Test("after a drop of the root, a handler further down never sees success, even if its value had arrived")
    func dropRootAfterArrivalDownstream() async throws {
        let queue = DispatchQueue(label: "downstream")
        let seen = Log<String>()
        let (promise, resolver) = Promise<Int>.pending()
        let parsed = promise.then(on: .immediate) { "\($0)" }
        parsed.then(on: queue) { _ in seen.add("value") }
            .finally(on: queue) { value, error in seen.add("finally \(value == nil) \(error.map { "\($0)" } ?? "")") }
        await queue.run {
            resolver.resolve(1)
            #expect(parsed.isCompleted)
            promise.drop()
        }
        await queue.flush()
        await queue.flush()
        #expect(seen.entries == ["finally true the promise was dropped"])
    }

    @Test("handle and finally run exactly once after a drop, the outermost first")
    func handlersHearOfDrop() async {
        let queue = DispatchQueue(label: "hear")
        let seen = Log<String>()
        let (promise, resolver) = Promise<Int>.pending()
        let last = promise.handle(on: queue) { _ in seen.add("handle") }
            .then(on: queue) { value -> Int in
                seen.add("then")
                return value
            }
            .recover(on: queue) { _ in
                seen.add("recover")
                return 1
            }
            .finally(on: queue) { _, _ in seen.add("finally") }
        last.drop()
        resolver.resolve(1)
        await queue.flush()
        await queue.flush()
        #expect(seen.entries == ["handle", "finally"])
        #expect(last.error as? PromiseError == .dropped)
    }

    @Test("the owner of dropped work learns of the drop before the handlers further down")
    func ownerIsFirst() {
        let seen = Log<String>()
        let (promise, resolver) = Promise<Int>.pending { _ in seen.add("owner") }
        let leaf = promise.finally(on: .immediate) { _, _ in seen.add("handler") }
        leaf.drop()
        #expect(seen.entries == ["owner", "handler"])
        _ = resolver
    }

    @Test("dropping the root runs the chain's error handlers, like any other error")
    func dropOfRootIsRecoverable() async throws {
        let (promise, resolver) = Promise<Int>.pending()
        let recovered = promise.then { $0 + 1 }.recover { _ in -1 }
        promise.drop()
        #expect(try await recovered.value == -1)
        _ = resolver
    }

    @Test("canceling an awaiting task drops the promise, if it has no other waiter", arguments: [false, true])
    func cancelledAwait(hasOther: Bool) async throws {
        let dropped = Log<Int>()
        let (promise, resolver) = Promise<Int>.pending { _ in dropped.add(1) }
        let other = hasOther ? promise.then { $0 + 1 } : .resolved(2)
        let task = Task { try await promise.value }
        task.cancel()
        let outcome = await task.result
        #expect(throws: PromiseError.dropped) { try outcome.get() }
        #expect(dropped.entries == (hasOther ? [] : [1]))
        resolver.resolve(1)
        #expect(try await other.value == 2)
    }

    @Test("dropping a promise made from an async operation cancels its task")
    func dropCancelsTask() async throws {
        let (cancelled, cancelledResolver) = Promise<Bool>.pending()
        let (started, startedResolver) = Promise<Void>.pending()
        let (never, neverResolver) = Promise<Void>.pending()
        defer { neverResolver.resolve(()) }
        let promise = Promise<Int> {
            startedResolver.resolve(())
            try? await never.value
            cancelledResolver.resolve(Task.isCancelled)
            return 1
        }
        try await started.value
        promise.drop()
        #expect(promise.error as? PromiseError == .dropped)
        #expect(try await cancelled.value)
    }

    @Test("handlers that have not started see a drop in the order of registration, each before its dependents")
    func dropOfSettledKeepsOrder() async {
        let queue = DispatchQueue(label: "held"), log = Log<String>()
        queue.suspend()
        let promise = Promise.resolved(1)
        let first = promise.finally(on: queue) { _, _ in log.add("A") }
        first.finally(on: queue) { _, _ in log.add("A2") }
        promise.finally(on: queue) { _, _ in log.add("B") }
        promise.handle(on: queue) { _ in log.add("C") }
        promise.drop()
        queue.resume()
        await withCheckedContinuation { done in queue.async { queue.async { done.resume() } } }
        #expect(log.entries == ["A", "B", "C", "A2"])
    }
}
