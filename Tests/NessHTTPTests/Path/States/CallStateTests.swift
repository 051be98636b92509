import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Plays every order of events on the states of a call.
@Suite(.inTurn(.withoutSockets)) struct CallStateTests {
    /// A call, and what its events have done.
    struct Model {
        var state = CallState()
        var ends = 0
        var told = 0
        /// The settlements of the promise.
        var settled = 0
        var hasPromise = false
        var hasTask = false
        var canceledTask = 0
        /// The waits of pauses that have not ended.
        var waiting: Set<ObjectIdentifier> = []
        var pauses = 0
        var resumedTwice = false
        /// The member that has not left its flight.
        var isMember = false
        /// The jobs that the caller is attached to.
        var attachments = 0
        var timers: Set<Int> = []
        var startedTimers = 0
        var enteredWhilePaused = false
        var endedWhilePaused = false
        /// True if a pause that kept the call from a flight is forgotten.
        var missedPause = false
        /// True if a pause that had no effect is reported, or one pause twice.
        var inventedPause = false
        var leftAfterEnd = false
        var isStream: Bool

        mutating func cancel(_ timer: StartedTimer?) {
            if case .queued(_, let id) = timer { timers.remove(id) }
        }

        mutating func resume(_ waiter: Waiter) { if waiting.remove(ObjectIdentifier(waiter)) == nil { resumedTwice = true } }

        mutating func take(_ end: CallState.End?) {
            guard let end else { return }
            ends += 1
            told += end.notifiesObservers ? 1 : 0
            settled += end.owner == nil ? 0 : 1
            canceledTask += end.task == nil ? 0 : 1
            cancel(end.deadlineTimer)
            if end.held.job != nil { attachments -= 1 }
            switch end.held.wait {
            case .flight: isMember = false
            case .pause(let waiter, _): resume(waiter)
            case .delay, .none: break
            }
        }
    }

    private typealias Event = StateExplorer<Model>.Event
    private static let timers = TimerQueue(elapsed: { .zero }, sleepUntil: { _ in })

    private static func events() throws -> [Event] {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let response = HTTPResponse(statusCode: 200, request: request)
        var options = CallOptions()
        options.download = DownloadTarget(destination: .folder(URL(filePath: "/")), segments: 1)
        var context = CallContext(Call(.success(request), options, clock: PipelineClock(ManualClock())))
        context.job = DownloadJob()
        let flight = Flight(request, in: context)
        let member = try #require(flight.join(request, in: context))
        let promise = Owner()
        let waiters = (0..<3).map { _ in Waiter {} }
        let task = Task {}, delay = Task<Void, any Error> {}
        func end(_ name: String, _ response: HTTPResponse?, isDrop: Bool = false) -> Event {
            Event(name: name) { model in
                model.take(
                    model.state.end(
                        with: response.map { .success($0) } ?? .failure(CancellationError()), isDrop: isDrop, isStream: model.isStream))
                return true
            }
        }
        func endReading(_ name: String, _ error: (any Error)?, isDrop: Bool) -> Event {
            Event(name: name) { model in
                switch model.state.endReading(with: error, isDrop: isDrop) {
                case .call(let end, _): model.take(end)
                case .observers: model.told += 1
                case nil: break
                }
                return true
            }
        }
        return [
            Event(name: "promise") { model in
                guard !model.hasTask, !model.hasPromise, !model.state.hasEnded else { return false }
                model.hasPromise = true
                model.state.setOwner(promise)
                return true
            },
            Event(name: "start") { model in
                guard !model.hasTask else { return false }
                model.hasTask = true
                if model.state.hasEnded { model.canceledTask += 1 }
                model.state.start(task)
                return true
            },
            Event(name: "head of a stream") { model in
                guard model.isStream else { return false }
                if model.state.settle(withHead: response) != nil { model.settled += 1 }
                return true
            },
            Event(name: "joins a flight") { model in
                guard !model.isMember else { return false }
                do {
                    let wasPaused = model.state.isPaused
                    model.attachments += try model.state.enter(member) == nil ? 1 : 0
                    if wasPaused { model.enteredWhilePaused = true }
                    model.isMember = true
                } catch {
                    if model.state.isPaused, model.state.active?.isInterrupted != true { model.missedPause = true }
                }
                return true
            },
            Event(name: "the flight ends") { model in
                model.isMember = false
                let hadEnded = model.state.hasEnded
                do {
                    try model.state.leave(member)
                    if hadEnded { model.leftAfterEnd = true }
                } catch {}
                return true
            },
            Event(name: "pause") { model in
                guard model.pauses < 3 else { return false }
                let waiter = waiters[model.pauses], hadNewPause = model.state.hasNewPause
                guard let pause = model.state.pause(waiter, at: .zero) else {
                    if model.state.hasNewPause != hadNewPause { model.inventedPause = true }
                    return true
                }
                model.pauses += 1
                model.waiting.insert(ObjectIdentifier(waiter))
                model.cancel(pause.deadlineTimer)
                if case .flight = pause.wait { model.isMember = false }
                return true
            },
            Event(name: "resume") { model in
                guard let (waiter, timeLeft) = model.state.resume() else { return true }
                model.resume(waiter)
                guard timeLeft != nil else { return true }
                model.startedTimers += 1
                let timer = StartedTimer.queued(timers, id: model.startedTimers)
                if model.state.startDeadline(timer, after: .seconds(1), end: .seconds(1)) { model.timers.insert(model.startedTimers) }
                return true
            },
            Event(name: "notices the pause") { model in
                _ = model.state.noticePause()
                if model.state.noticePause().isNew { model.inventedPause = true }
                return true
            },
            Event(name: "delay") { model in
                guard !model.isMember else { return false }
                _ = model.state.startDelay(delay)
                return true
            },
            Event(name: "the delay ends") { model in
                model.state.endDelay()
                return true
            },
            Event(name: "deadline starts") { model in
                guard model.startedTimers == 0 else { return false }
                model.startedTimers = 1
                if model.state.startDeadline(.queued(timers, id: 1), after: .seconds(1), end: .seconds(1)) { model.timers.insert(1) }
                return true
            },
            Event(name: "replaceable work") { model in
                model.state.setAbandon { _ in }
                return true
            },
            Event(name: "replaceable work ends") { model in
                model.state.setAbandon(nil)
                return true
            },
            Event(name: "the deadline passes") { model in
                guard let fired = model.timers.first, model.startedTimers < 6 else { return false }
                guard case .abandon? = model.state.passDeadline() else {
                    model.take(model.state.end(with: .failure(CancellationError()), isDrop: false, isStream: model.isStream))
                    return true
                }
                model.timers.remove(fired)
                model.startedTimers += 1
                if model.state.prolongDeadline(.queued(timers, id: model.startedTimers)) { model.timers.insert(model.startedTimers) }
                return true
            },
            Event(name: "the deadline passes as a pause stops its timer") { model in
                guard model.state.isPaused else { return false }
                if model.state.passDeadline() != nil { model.endedWhilePaused = true }
                return true
            },
            end("response", response), end("error", nil), end("drop", nil, isDrop: true),
            endReading("the reader has read all", nil, isDrop: false),
            endReading("the reader fails", CancellationError(), isDrop: false),
            endReading("the reader is dropped", CancellationError(), isDrop: true),
        ]
    }

    private static func faults(_ model: Model) -> [String] {
        var faults: [String] = []
        func rule(_ text: String, _ holds: Bool) { if !holds { faults.append(text) } }
        rule("a call ends at most once", model.ends <= 1)
        let isActive = if case .active = model.state.phase { true } else { false }
        rule("a call holds references exactly in the active phase", isActive == (model.state.active != nil))
        rule("observers hear of one end", model.told <= 1)
        let isUnread = if case .unread = model.state.phase { true } else { false }
        rule("observers hear of the end once it is over, and not before", !model.state.hasEnded || (model.told == 1) != isUnread)
        rule("a promise settles once", model.settled <= 1)
        rule("a promise settles at the end at the latest", !model.state.hasEnded || !model.hasPromise || model.settled == 1)
        rule("no wait of a pause ends twice", !model.resumedTwice)
        rule("at most one pause waits", model.waiting.count <= 1)
        rule("a pause waits exactly while the call is paused", model.waiting.isEmpty != model.state.isPaused)
        rule("a call that has ended or is paused is no member", !(model.state.hasEnded || model.state.isPaused) || !model.isMember)
        rule("no flight is entered during a pause", !model.enteredWhilePaused)
        rule("a pause that keeps a call from a flight interrupts it", !model.missedPause)
        rule("a pause is noticed once, and only if it had an effect", !model.inventedPause)
        rule("a call that has ended learns so when its flight ends", !model.leftAfterEnd)
        let jobs = model.state.active?.job == nil ? 0 : 1
        rule("a caller that has entered a flight stays attached to one job until its end", model.attachments == jobs)
        rule("no deadline ends a call during a pause", !model.endedWhilePaused)
        rule("one timer at most runs", model.timers.count <= 1)
        rule("after the end, and during a pause, no timer runs", !(model.state.hasEnded || model.state.isPaused) || model.timers.isEmpty)
        rule("the task of a call that has ended is canceled", !model.state.hasEnded || !model.hasTask || model.canceledTask == 1)
        return faults
    }

    @Test("in every order of events a call ends once, settles once, and its observers hear of one end", arguments: [false, true])
    func everyOrder(isStream: Bool) throws {
        let explorer = StateExplorer<Model>(
            events: try Self.events(),
            describe: { model in
                "\(shape(model.state, without: [.type(CallCounts.self), .type(StartedTimer.self), .type(Duration.self)])) \(model.ends) \(model.told) "
                    + "\(model.settled) \(model.hasPromise) \(model.hasTask) \(model.canceledTask) \(model.waiting.count) \(model.pauses) "
                    + "\(model.isMember) \(model.attachments) \(model.timers.count) \(model.startedTimers)"
            }, faults: Self.faults)
        let report = explorer.run(from: Model(isStream: isStream))
        print("call: \(report.states) states, \(report.steps) steps, sequences of up to \(report.depth) events")
        #expect(report.faults == [:])
        #expect(report.states > 1_000, "the exploration is not empty")
    }

    @Test("a loader's request is extra only while another one of the same attempt waits")
    func extraRequests() {
        var state = CallState()
        let first = state.beginShare(inAttempt: 1)
        state.endShare(inAttempt: 1)
        let following = state.beginShare(inAttempt: 1)
        let concurrent = state.beginShare(inAttempt: 1)
        #expect([first, following, concurrent] == [false, false, true])
        let firstOfNext = state.beginShare(inAttempt: 2)
        // A request of the attempt before ends late.
        state.endShare(inAttempt: 1)
        let secondOfNext = state.beginShare(inAttempt: 2)
        #expect([firstOfNext, secondOfNext] == [false, true])
    }

    @Test("a call is a member of each flight that it has joined, until it leaves it")
    func membership() throws {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let context = CallContext(Call(.success(request), CallOptions(), clock: PipelineClock(ManualClock())))
        let flight = Flight(request, in: context), other = Flight(request, in: context)
        let member = try #require(flight.join(request, in: context)), otherMember = try #require(other.join(request, in: context))
        var state = CallState()
        _ = try state.enter(member)
        state.enter(other: otherMember)
        #expect(state.isMember(of: flight) && state.isMember(of: other))
        try state.leave(otherMember)
        #expect(state.isMember(of: flight) && !state.isMember(of: other))
        try state.leave(member)
        #expect(!state.isMember(of: flight))
        for flight in [flight, other] { flight.discard() }
    }
}

/// The promise of a call that never starts. `@unchecked Sendable` like `Promise`: the class adds no state.
private final class Owner: Promise<Int>, CallOwner, @unchecked Sendable {
    init() { super.init(makeDropError: { CancellationError() }) }

    func settlement(by response: HTTPResponse) throws -> @Sendable () -> Void { {} }
    func settle(failing error: any Error) {}
}
