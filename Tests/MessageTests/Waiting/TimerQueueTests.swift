import Foundation
import NessLock
import NessPromise
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The heap alone, step by step, without a clock.
@Suite struct TimerHeapTests {

    @Test("the heap of timers behaves like a sorted array", arguments: 0..<20) func theHeapDoesWhatASortedArrayDoes(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed)), heap = TimerHeap<Int>(), now = 0
        var model: [(deadline: Int, id: Int, value: Int)] = []
        for value in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let deadline = now + Int.random(in: 0..<100, using: &random)
                model.append((deadline, heap.add(.seconds(deadline), value), value))
            case 6..<9:
                guard let index = model.indices.randomElement(using: &random) else { break }
                let timer = model.remove(at: index)
                #expect(heap.cancel(timer.id) == timer.value)
            default:
                now += Int.random(in: 0..<20, using: &random)
                let due = model.filter { $0.deadline <= now }.sorted { ($0.deadline, $0.id) < ($1.deadline, $1.id) }
                model.removeAll { $0.deadline <= now }
                #expect(heap.takeDue(at: .seconds(now)) == due.map(\.value))
                #expect(heap.earliest == model.map(\.deadline).min().map { .seconds($0) })
            }
            #expect(heap.count == model.count)
            #expect((model.count...model.count + max(16, model.count)).contains(heap.entryCount))
        }
    }

    @Test("a timer costs a few comparisons, with 50,000 timers as with 10", arguments: [10, 1_000, 50_000]) func cost(_ count: Int) {
        var heap = TimerHeap<Int>()
        // As timeouts come: each later than those before, and nearly all are canceled.
        let ids = (0..<count).map { heap.add(.seconds($0), $0) }
        #expect(heap.comparisons <= count)
        for id in ids.dropLast() { _ = heap.cancel(id) }
        #expect(heap.count == 1 && heap.entryCount <= 16)
        #expect(heap.comparisons <= 6 * count)
    }
}

/// The queue with a clock that shows how many tasks sleep on it.
@Suite(.timeLimit(.minutes(15))) struct TimerQueueTests {
    /// A clock that a test moves. It may keep canceled sleeps until their time has passed, as the runtime does.
    private final class SleepClock: Sendable {
        private struct State: Sendable {
            var now = Duration.zero
            var sleepers: [Int: (end: Duration, waiter: Waiter)] = [:]
            var begun = 0
            var most = 0
        }
        private let keepsCancelled: Bool
        private let state = Lock(State())
        private let changed = ChangeSignal()

        init(keepsCancelled: Bool) { self.keepsCancelled = keepsCancelled }

        var now: Duration { state.withLock { $0.now } }
        /// The number of tasks that sleep.
        var count: Int { state.withLock { $0.sleepers.count } }
        /// The most that ever slept at once.
        var most: Int { state.withLock { $0.most } }
        var begun: Int { state.withLock { $0.begun } }

        func sleeps(until end: Duration) -> Bool { state.withLock { $0.sleepers.values.contains { $0.end == end } } }

        func sleep(until end: Duration) async throws {
            let waiter: Waiter? = state.withLock { state in
                state.begun += 1
                guard end > state.now else { return nil }
                let id = state.begun
                let waiter = keepsCancelled ? Waiter() : Waiter { [self] in remove(id) }
                state.sleepers[id] = (end, waiter)
                state.most = max(state.most, state.sleepers.count)
                return waiter
            }
            changed.notify()
            try await waiter?.wait()
        }

        private func remove(_ id: Int) {
            state.withLock { _ = $0.sleepers.removeValue(forKey: id) }
            changed.notify()
        }

        func advance(to time: Duration) {
            let woken = state.withLock { state in
                state.now = max(state.now, time)
                let due = state.sleepers.filter { $0.value.end <= state.now }
                for id in due.keys { state.sleepers[id] = nil }
                return due.values.map(\.waiter)
            }
            for waiter in woken { waiter.resume() }
            changed.notify()
        }

        func wait(_ condition: @Sendable (SleepClock) -> Bool) async { await changed.wait { condition(self) } }
    }

    private let clock: SleepClock
    private let queue: TimerQueue
    /// The timers that have fired, and when.
    private let fired = Log<Firing>()

    private struct Firing: Equatable {
        let number: Int
        let time: Duration
    }

    init() { self.init(keepsCancelled: false) }

    private init(keepsCancelled: Bool) {
        let clock = SleepClock(keepsCancelled: keepsCancelled)
        self.clock = clock
        queue = TimerQueue(elapsed: { clock.now }, sleepUntil: { try await clock.sleep(until: $0) })
    }

    @discardableResult
    private func add(_ number: Int, after duration: Duration) -> @Sendable () -> Void {
        queue.add(after: duration) { [fired, clock] in fired.add(Firing(number: number, time: clock.now)) }
    }

    /// Moves the clock from one end of the queue's sleep to the next.
    private func advance(to time: Duration) async {
        while clock.now < time {
            guard let end = queue.sleepEnd, end > clock.now else {
                // The task is just waking.
                await Task.yield()
                continue
            }
            await clock.wait { $0.sleeps(until: end) }
            clock.advance(to: min(end, time))
        }
    }

    @Test("timers fire at their deadlines") func timersFireAtTheirDeadlines() async {
        for (number, seconds) in [90, 3, 7, 3].enumerated() { add(number, after: .seconds(seconds)) }
        for (count, seconds) in [(2, 3), (3, 7), (4, 90)] {
            await advance(to: .seconds(seconds))
            await fired.wait(for: count)
        }
        #expect(fired.entries.map(\.number) == [1, 3, 2, 0])
        #expect(fired.entries.map(\.time) == [.seconds(3), .seconds(3), .seconds(7), .seconds(90)])
        #expect(clock.most == 1)
        // A minute and a half takes no more than a dozen wakes.
        #expect(clock.begun <= 12)
    }

    @Test(
        "300 short timers beside a long one, fired or canceled, leave a few sleeps behind at most, even where a canceled sleep stays",
        arguments: [true, false])
    func shortTimersBesideALongOne(fires: Bool) async {
        let rig = TimerQueueTests(keepsCancelled: true), step: Duration = fires ? .milliseconds(10) : .seconds(1)
        rig.add(-1, after: .seconds(600))
        await rig.clock.wait { $0.count == 1 }
        for number in 0..<300 {
            let cancel = rig.add(number, after: fires ? step : .seconds(5))
            await rig.advance(to: step * (number + 1))
            if fires { await rig.fired.wait(for: number + 1) } else { cancel() }
        }
        #expect(rig.fired.entries == (0..<(fires ? 300 : 0)).map { Firing(number: $0, time: step * ($0 + 1)) })
        #expect(rig.clock.most <= 6)
    }

    @Test("timers each earlier than the one before replace the sleep a few times and not each")
    func everEarlierTimers() async {
        let rig = TimerQueueTests(keepsCancelled: true)
        for number in 0..<300 { rig.add(number, after: .milliseconds(900 - 3 * number)) }
        for count in 1...300 {
            await rig.advance(to: .milliseconds(3 * count))
            await rig.fired.wait(for: count)
        }
        #expect(rig.fired.entries == (0..<300).reversed().map { Firing(number: $0, time: .milliseconds(900 - 3 * $0)) })
        #expect(rig.clock.most <= 12)
    }

    @Test("a canceled timer releases its closure and never fires") func aCancelledTimerReleasesItsClosureAndNeverFires() async {
        final class Held: Sendable {}
        weak var held: Held?
        let cancel: @Sendable () -> Void
        do {
            let object = Held()
            held = object
            cancel = queue.add(after: .seconds(5)) {
                Issue.record("it fired")
                withExtendedLifetime(object) {}
            }
        }
        add(1, after: .seconds(6))
        #expect(held != nil)
        cancel()
        #expect(held == nil)
        cancel()
        await advance(to: .seconds(6))
        await fired.wait(for: 1)
        #expect(fired.entries == [Firing(number: 1, time: .seconds(6))])
    }

    @Test("canceled timers take no room") func cancelledTimersTakeNoRoom() {
        add(0, after: .seconds(600))
        for _ in 0..<10_000 { add(1, after: .seconds(60))() }
        #expect(queue.counts.timers == 1 && queue.counts.entries <= 17)
    }

    @Test("a canceled wait leaves no timer behind") func canceledWait() async {
        let task = Task { [queue] in try await queue.wait(.seconds(60)) }
        await clock.wait { $0.count == 1 }
        #expect(queue.counts.timers == 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(queue.counts.timers == 0)
    }

    @Test("a queue ends its sleep on request, unless a timer is left") func rest() async {
        let cancel = add(1, after: .seconds(60))
        await clock.wait { $0.count == 1 }
        queue.rest()
        #expect(queue.sleepEnd != nil && clock.count == 1)
        cancel()
        queue.rest()
        #expect(queue.sleepEnd == nil)
        await clock.wait { $0.count == 0 }
    }

    @Test("a timer that fires may add and cancel timers") func aTimerThatFiresMayAddAndCancel() async {
        let cancel = add(1, after: .seconds(2))
        _ = queue.add(after: .seconds(1)) { [self] in
            cancel()
            add(2, after: .zero)
        }
        await advance(to: .seconds(1))
        await fired.wait(for: 1)
        #expect(fired.entries == [Firing(number: 2, time: .seconds(1))])
    }

    @Test("a timer is in time if its clock moves just before the task falls asleep")
    func clockMovesBeforeTheSleep() async {
        let clock = SleepClock(keepsCancelled: false), fired = Log<Duration>(), asleep = TestGate()
        let queue = TimerQueue(
            elapsed: { clock.now },
            sleepUntil: { time in
                await asleep.wait()
                try await clock.sleep(until: time)
            })
        queue.add(after: .milliseconds(10)) { fired.add(clock.now) }
        clock.advance(to: .milliseconds(10))
        asleep.open()
        await fired.wait(for: 1)
        #expect(fired.entries == [.milliseconds(10)] && clock.most == 0)
    }

    @Test("a sleep that is replaced while its task is being made ends, and the one that replaces it stays")
    func replacedBeforeItsTask() async {
        struct Ending: Hashable {
            let time: Duration
            let isCanceled: Bool
        }
        let asleep = TestGate(), added = TestGate(), endings = Log<Ending>(), holder = Lock<TimerQueue?>(nil)
        let queue = TimerQueue(
            elapsed: { .zero },
            sleepUntil: { time in
                guard time == .milliseconds(900) else {
                    await added.wait()
                    endings.add(Ending(time: time, isCanceled: Task.isCancelled))
                    return
                }
                // The second timer replaces this sleep. The cancellation adds a third timer, before the second sleep has its task.
                await withTaskCancellationHandler {
                    asleep.open()
                    await TestGate().wait()
                } onCancel: {
                    _ = holder.withLock { $0 }?.add(after: .milliseconds(100)) {}
                }
            })
        holder.withLock { $0 = queue }
        queue.add(after: .milliseconds(900)) {}
        await asleep.wait()
        queue.add(after: .milliseconds(500)) {}
        added.open()
        await endings.wait(for: 2)
        let second = Ending(time: .milliseconds(250), isCanceled: true), third = Ending(time: .milliseconds(50), isCanceled: false)
        #expect(Set(endings.entries) == [second, third])
        holder.withLock { $0 = nil }
    }

    @Test("a queue that is released ends its sleep") func aQueueThatIsReleasedEndsItsSleep() async {
        let clock = SleepClock(keepsCancelled: false)
        do {
            let queue = TimerQueue(elapsed: { clock.now }, sleepUntil: { try await clock.sleep(until: $0) })
            _ = queue.add(after: .seconds(60)) {}
            await clock.wait { $0.count == 1 }
        }
        await clock.wait { $0.count == 0 }
    }

    @Test("a clock that cannot sleep does not keep a task awake") func aClockThatCannotSleepHasNoTaskWakeForEver() async {
        let asked = Tally()
        let queue = TimerQueue(
            elapsed: { .zero },
            sleepUntil: { _ in
                asked.enter()
                throw Rejected()
            })
        _ = queue.add(after: .seconds(60)) { Issue.record("it fired") }
        await asked.wait(for: 1)
        for _ in 0..<100 { await Task.yield() }
        #expect(asked.total == 1)
        withExtendedLifetime(queue) {}
    }
}

extension TimerQueue {
    /// Adds a timer that runs a closure. Returns a closure that cancels the timer.
    @discardableResult
    fileprivate func add(after duration: Duration, _ fire: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let id = add(after: duration, ClosureTarget(fire))
        return { [weak self] in self?.cancel(id) }
    }
}
