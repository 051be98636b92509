import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Plays every order of events on the states of an exchange.
@Suite(.inTurn(.withoutSockets)) struct ExchangeStateTests {
    /// An exchange, and what its events had done.
    struct Model: Sendable {
        var state = ExchangeState()
        var isInQueue = false
        /// True after a stop that did not end the wait in a queue.
        var keptWaiting = false
        var hasBegun = false
        var hasFinished = false
        var connections = 0
        var stops = 0
        var occupied = (host: 0, total: 0)
        var givenBack = (host: 0, total: 0)
        var startedTimers = 0
        var canceledTimers: Set<Int> = []
        var canceledTwice = false
        var keptEarlierCheck = false
        var stoppedAfterEnd = false
        var startedAfterStop = false

        mutating func giveBack(_ lanes: ExchangeSlots.Lanes?) {
            givenBack.host += lanes?.host == nil ? 0 : 1
            givenBack.total += lanes?.total == nil ? 0 : 1
        }

        mutating func cancel(_ timer: StartedTimer?) {
            guard case .queued(_, let id) = timer else { return }
            if !canceledTimers.insert(id).inserted { canceledTwice = true }
        }
    }

    private static let hosts = Limiter<ParsedURL.Origin>(limit: 1)
    private static let total = Limiter<Int>(limit: 1)
    private static let timers = TimerQueue(elapsed: { .zero }, sleepUntil: { _ in })

    private static func events() throws -> [StateExplorer<Model>.Event] {
        typealias Event = StateExplorer<Model>.Event
        let host = hosts.enter(HTTPRequest(url: try url("https://mock.test/")).origin).lane, all = total.enter(0).lane, turn = Waiter {}
        return [
            Event(name: "place at the host") { model in
                guard !model.hasBegun, !model.hasFinished, model.occupied.host == 0 else { return false }
                model.occupied.host = 1
                model.state.slots.lanes.host = host
                return true
            },
            Event(name: "place among all") { model in
                guard !model.hasBegun, !model.hasFinished, model.occupied.host == 1, model.occupied.total == 0 else { return false }
                model.occupied.total = 1
                model.state.slots.lanes.total = all
                return true
            },
            Event(name: "waits in a queue") { model in
                guard !model.hasBegun, !model.hasFinished, !model.isInQueue else { return false }
                model.isInQueue = model.state.wait(for: turn)
                if model.stops > 0, model.isInQueue { model.keptWaiting = true }
                return true
            },
            Event(name: "leaves a queue") { model in
                guard model.isInQueue else { return false }
                model.isInQueue = false
                model.state.endWait()
                return true
            },
            Event(name: "begin") { model in
                guard !model.hasBegun, !model.hasFinished, !model.isInQueue else { return false }
                do {
                    try model.state.begin(nil, connectTimeout: nil, at: .zero)
                    model.hasBegun = true
                    if model.stops > 0 { model.startedAfterStop = true }
                } catch {}
                return true
            },
            Event(name: "application code") { model in
                guard model.hasBegun, !model.hasFinished else { return false }
                do {
                    try model.state.beginApplicationCode()
                    if model.stops > 0 { model.startedAfterStop = true }
                } catch {}
                return true
            },
            Event(name: "stoppable") { model in
                guard model.hasBegun else { return false }
                let error = model.state.becomeStoppable { _ in }
                if model.stops > 0, error == nil, !model.hasFinished { model.startedAfterStop = true }
                return true
            },
            Event(name: "stop") { model in
                guard let stop = model.state.stop(CancellationError()) else { return true }
                if model.hasFinished { model.stoppedAfterEnd = true }
                model.stops += 1
                if model.isInQueue, stop.end == nil { model.keptWaiting = true }
                return true
            },
            Event(name: "connection") { model in
                guard !model.state.isFinished, model.connections < 2 else { return false }
                model.connections += 1
                model.state.slots.use()
                return true
            },
            Event(name: "connection ends") { model in
                guard model.connections > 0 else { return false }
                model.connections -= 1
                model.giveBack(model.state.slots.endUse())
                return true
            },
            Event(name: "waits for a network") { model in
                guard !model.state.isFinished else { return false }
                model.state.idleness.waitForNetwork()
                model.giveBack(model.state.slots.giveBack())
                return true
            },
            Event(name: "bytes") { model in
                model.state.idleness.move(at: .zero, isHead: false)
                return true
            },
            Event(name: "head") { model in
                model.state.idleness.move(at: .zero, isHead: true)
                return true
            },
            Event(name: "reader works") { model in
                model.state.idleness.read(true, at: .zero)
                return true
            },
            Event(name: "reader rests") { model in
                model.state.idleness.read(false, at: .zero)
                return true
            },
            Event(name: "two checks, the later of which plans first") { model in
                guard !model.hasFinished, model.startedTimers < 4 else { return false }
                let first = model.state.idleness.startCheck(at: .zero), second = model.state.idleness.startCheck(at: .zero)
                for check in [second, first] {
                    model.startedTimers += 1
                    model.cancel(model.state.idleness.plan(.queued(timers, id: model.startedTimers), ofCheck: check.number))
                }
                if !model.canceledTimers.contains(model.startedTimers) { model.keptEarlierCheck = true }
                return true
            },
            Event(name: "finish") { model in
                guard !model.hasFinished else { return false }
                model.hasFinished = true
                model.cancel(model.state.finish().timer)
                model.giveBack(model.state.slots.endUse())
                return true
            },
        ]
    }

    private static func faults(_ model: Model) -> [String] {
        var faults: [String] = []
        func rule(_ text: String, _ holds: Bool) { if !holds { faults.append(text) } }
        rule("an exchange is stopped at most once", model.stops <= 1)
        rule("nothing is stopped after the end", !model.stoppedAfterEnd)
        rule("a stop ends the wait in a queue", !model.keptWaiting)
        rule("nothing starts after a stop", !model.startedAfterStop)
        rule(
            "a place is given back at most once",
            model.givenBack.host <= model.occupied.host && model.givenBack.total <= model.occupied.total)
        let isOver = model.hasFinished && model.connections == 0
        rule("after the end no place is occupied", !isOver || model.givenBack == model.occupied)
        rule("no timer is canceled twice", !model.canceledTwice)
        rule("the timer of the latest check stays", !model.keptEarlierCheck)
        rule("one timer at most runs", model.startedTimers - model.canceledTimers.count <= 1)
        rule("after the end no timer runs", !model.hasFinished || model.startedTimers == model.canceledTimers.count)
        return faults
    }

    @Test("in every order of events an exchange is stopped once, gives each place back once, and leaves no timer")
    func everyOrder() throws {
        let explorer = StateExplorer<Model>(
            events: try Self.events(),
            describe: { model in
                let state = shape(
                    model.state,
                    without: [.property(\IdleClock.checkCount), .property(\IdleClock.PlannedCheck.number), .type(StartedTimer.self)])
                return "\(state) \(model.isInQueue) \(model.hasBegun) \(model.hasFinished) \(model.connections) "
                    + "\(model.stops) \(model.occupied) \(model.givenBack) \(model.startedTimers) \(model.canceledTimers.count)"
            }, faults: Self.faults)
        let report = explorer.run(from: Model())
        print("exchange: \(report.states) states, \(report.steps) steps, sequences of up to \(report.depth) events")
        #expect(report.faults == [:])
        #expect(report.states > 1_000, "the exploration is not empty")
    }

    @Test("a stop ends the outer of two transports, which cancels the inner one")
    func outerTransport() throws {
        var state = ExchangeState()
        let ended = Log<String>()
        try state.begin(nil, connectTimeout: nil, at: .zero)
        for name in ["outer", "inner"] { _ = state.becomeStoppable { _ in ended.add(name) } }
        let stop = state.stop(CancellationError())
        stop?.end?(CancellationError())
        #expect(ended.entries == ["outer"])
    }

    @Test("the connect timeout starts again after a connection that failed, but not after one that was ready")
    func connecting() {
        var clock = IdleClock()
        clock.beginConnecting(within: .seconds(10), at: .zero)
        clock.endConnecting(isReady: false)
        clock.beginConnecting(within: .seconds(10), at: .seconds(5))
        #expect(clock.connectEnd == .seconds(15))
        clock.endConnecting(isReady: true)
        clock.beginConnecting(within: .seconds(10), at: .seconds(20))
        #expect(clock.connectEnd == nil)
    }

    @Test("bytes end the wait for the head only with the head, and do not end the time of a reader")
    func movedBytes() {
        var clock = IdleClock()
        clock.begin(at: .zero)
        clock.move(at: .seconds(1), isHead: false)
        let silent = clock.startCheck(at: .seconds(5))
        #expect(silent.lastActivity == .seconds(1) && !silent.hasHead)
        clock.read(true, at: .seconds(6))
        clock.move(at: .seconds(7), isHead: true)
        let heldBack = clock.startCheck(at: .seconds(9))
        #expect(heldBack.lastActivity == .seconds(9) && heldBack.hasHead)
    }
}
