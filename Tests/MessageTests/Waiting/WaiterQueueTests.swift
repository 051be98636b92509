import Foundation
import NessPromise
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The queue alone, step by step.
@Suite struct WaiterQueueTests {

    @Test("the queue behaves like an array", arguments: 0..<20) func theQueueDoesWhatAnArrayDoes(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed)), queue = WaiterQueue<Int>()
        var model: [(value: Int, id: WaiterQueue<Int>.ID)] = [], gone: [WaiterQueue<Int>.ID] = []
        for value in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: model.append((value, queue.join(value)))
            case 5, 6:
                #expect(queue.takeFirst() == model.first?.value)
                if !model.isEmpty { gone.append(model.removeFirst().id) }
            case 7, 8:
                guard let index = model.indices.randomElement(using: &random) else { break }
                let (value, id) = model.remove(at: index)
                #expect(queue.leave(id) == value)
                gone.append(id)
            default:
                if let id = gone.randomElement(using: &random) { #expect(queue.leave(id) == nil) }
                // Some of them, or all.
                let divisor = [3, 1].randomElement(using: &random) ?? 1, taken = model.filter { $0.value.isMultiple(of: divisor) }
                if value.isMultiple(of: 20) {
                    #expect(queue.takeAll { $0.isMultiple(of: divisor) } == taken.map(\.value))
                    gone += taken.map(\.id)
                    model.removeAll { $0.value.isMultiple(of: divisor) }
                }
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty && queue.firstElement == model.first?.value)
            if value.isMultiple(of: 100) { #expect(queue.elements == model.map(\.value)) }
        }
        #expect(queue.takeAll() == model.map(\.value))
    }

    @Test("the memory follows the number of elements, not the number of joins", arguments: [1, 10, 1_000, 50_000])
    func theMemoryFollowsTheNumberOfElements(_ count: Int) {
        var queue = WaiterQueue<Int>(), random = SeededGenerator(seed: 1)
        let ids = (0..<count).map { queue.join($0) }.shuffled(using: &random)
        // Another element joins for each that leaves, from any position first and then from the start.
        for id in ids {
            queue.leave(id)
            queue.join(0)
        }
        for _ in 0..<3 * count {
            _ = queue.takeFirst()
            queue.join(0)
        }
        #expect(queue.count == count && queue.capacity <= max(64, 5 * count))
        while queue.takeFirst() != nil {}
        #expect(queue.capacity <= 16)
    }

    @Test("an element is released when it leaves") func anElementIsReleasedWhenItLeaves() {
        final class Element {}
        var queue = WaiterQueue<Element>()
        weak var left: Element?, taken: Element?, kept: Element?
        do {
            let elements = [Element(), Element(), Element()]
            (left, taken, kept) = (elements[1], elements[0], elements[2])
            let ids = elements.map { queue.join($0) }
            queue.leave(ids[1])
            _ = queue.takeFirst()
        }
        #expect(left == nil && taken == nil && kept != nil)
        withExtendedLifetime(queue) {}
    }
}

/// One wait, with its task.
@Suite(.timeLimit(.minutes(15))) struct WaiterTests {
    @Test("a wait ends once, with success or with an error") func aWaitEndsOnce() async throws {
        let waiter = Waiter(), failing = Waiter()
        #expect(!waiter.hasEnded && waiter.resume() && waiter.hasEnded)
        #expect(!waiter.resume(.failure(Rejected())))
        try await waiter.wait()
        failing.resume(.failure(Rejected()))
        await #expect(throws: Rejected()) { try await failing.wait() }
    }

    @Test("a canceled task leaves the queue before its wait ends") func aCancelledTaskLeavesTheQueueBeforeItsWaitEnds() async {
        let order = Log<String>()
        let waiter = Waiter { order.add("left") }
        let task = Task {
            try? await waiter.wait()
            order.add("ended")
        }
        task.cancel()
        await task.value
        #expect(order.entries == ["left", "ended"])
        #expect(!waiter.resume())
    }

    @Test("a task that was canceled earlier does not wait") func aTaskThatWasCancelledBeforeDoesNotWait() async {
        let begin = TestGate(), left = Tally()
        let waiter = Waiter { left.enter() }
        let task = Task {
            await begin.wait()
            try await waiter.wait()
        }
        task.cancel()
        begin.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(left.total == 1)
    }

    @Test("a wait without a queue to leave ignores cancellation") func aWaitWithoutAQueueToLeaveIgnoresCancellation() async throws {
        let waiter = Waiter()
        let task = Task { try await waiter.wait() }
        task.cancel()
        #expect(!waiter.hasEnded)
        waiter.resume()
        try await task.value
    }

    @Test("the first decision counts, and both sides get the same one", arguments: 0..<200) func aRace(_ round: Int) async {
        let waiter = Waiter {}
        let task = Task { try await waiter.wait() }
        let resumes = Task { waiter.resume() }
        task.cancel()
        let wasResumed = await resumes.value
        let outcome = await task.result
        #expect(wasResumed == ((try? outcome.get()) != nil))
    }
}
