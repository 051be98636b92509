import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Plays every order of events on the states of a flight with three callers.
@Suite(.inTurn(.withoutSockets)) struct FlightStateTests {
    /// The fate of a caller.
    enum Caller: Equatable {
        case outside, waiting, tooLate
        /// With the number of outcomes that it got.
        case over(Int)
    }

    /// A flight, and what its events have done.
    struct Model {
        var state = FlightState()
        var members: [Flight.Member?] = [nil, nil, nil]
        var callers: [Caller] = [.outside, .outside, .outside]
        /// The events that a caller knows of.
        var known = [0, 0, 0]
        var hasTask = false
        var hasFinished = false
        var isDiscarded = false
        var exchanges = 0
        var stops = 0
        var unstopped = false
        var joinedTooLate = false
        var startedTooLate = false
        /// True if the flight became open or closed to callers at the wrong moment of a silence.
        var misjudgedSilence = false
        var overtaken = false

        /// The wait of members has ended.
        mutating func end(_ ended: [Flight.Member]) {
            for member in ended {
                guard let index = members.firstIndex(where: { $0 === member }) else { continue }
                switch callers[index] {
                case .over(let count): callers[index] = .over(count + 1)
                default: callers[index] = .over(1)
                }
            }
        }

        mutating func take(_ stop: FlightState.Stop?) {
            guard let stop else { return }
            stops += 1
            if stop.exchanges.count != exchanges { unstopped = true }
        }
    }

    private typealias Event = StateExplorer<Model>.Event

    /// Makes an exchange of a flight without callers.
    private static func exchange(_ request: HTTPRequest, in context: CallContext) -> Exchange {
        Exchange(Flight(request, in: context), sink: nil, bytesBefore: 0, jar: nil, Limiter(limit: 1), nil, context.call.clock)
    }

    private static func events() throws -> [Event] {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let context = CallContext(Call(.success(request), CallOptions(), clock: PipelineClock(ManualClock())))
        let wire = exchange(request, in: context), flight = wire.flight
        func join(_ index: Int, _ excludes: Bool) -> Event {
            Event(name: "\(index) joins\(excludes ? ", and excludes the others" : "")") { model in
                // The first to join makes the flight, and nobody joins before it.
                guard model.callers[index] == .outside, index == 0 || model.callers[0] != .outside, !model.isDiscarded else { return false }
                let timeouts = Flight.Member.Timeouts(toHead: .seconds(index + 1), toEnd: .seconds(3))
                let wasOpen = model.state.isOpen
                let joined = model.state.join(drivenBy: nil, timeouts: timeouts, at: .zero, excludingOthers: excludes) {
                    Flight.Member($0, of: flight, context, isRunner: false, timeouts: timeouts, joinedAt: .zero)
                }
                switch joined {
                case .tooLate: model.callers[index] = .tooLate
                case .late(let member, _):
                    if wasOpen || !model.hasFinished { model.joinedTooLate = true }
                    model.members[index] = member
                    model.callers[index] = .over(1)
                case .joined(let member, let isLate, let excluded, _):
                    if !wasOpen { model.joinedTooLate = true }
                    model.members[index] = member
                    model.callers[index] = .waiting
                    model.known[index] = isLate ? 0 : model.state.eventCount
                    model.end(excluded)
                }
                return true
            }
        }
        func leave(_ index: Int) -> Event {
            Event(name: "\(index) leaves") { model in
                guard let member = model.members[index] else { return false }
                guard let left = model.state.leave(member.id, becauseOf: CancellationError()) else { return true }
                model.end([left.member])
                model.take(left.stop)
                return true
            }
        }
        func tell(_ index: Int) -> Event {
            Event(name: "\(index) is told what happened") { model in
                guard let member = model.members[index], model.known[index] < model.state.eventCount || model.callers[index] == .waiting
                else { return false }
                if model.state.news(after: model.known[index], for: member) != nil { model.known[index] = model.state.eventCount }
                return true
            }
        }
        func idle(_ name: String, _ now: Duration, hasHead: Bool) -> Event {
            Event(name: name) { model in
                let wasOpen = model.state.isOpen
                let (idle, next) = model.state.checkIdleness(since: .zero, at: now, hasHead: hasHead)
                let timesOut = next == nil && !idle.isEmpty
                if wasOpen, model.state.isOpen == timesOut { model.misjudgedSilence = true }
                guard next != nil else { return true }
                for (member, _) in idle {
                    guard let left = model.state.leave(member.id, becauseOf: CancellationError()) else { continue }
                    model.end([left.member])
                    model.take(left.stop)
                }
                return true
            }
        }
        return (0..<3).flatMap { [join($0, false), join($0, true), leave($0), tell($0)] } + [
            Event(name: "start") { model in
                guard model.callers[0] != .outside, !model.hasTask, !model.isDiscarded, !model.hasFinished else { return false }
                let wasOpen = model.state.isOpen
                model.hasTask = model.state.start { Task {} }
                if model.hasTask, !wasOpen { model.startedTooLate = true }
                return true
            },
            Event(name: "discard") { model in
                guard model.callers[0] != .outside, !model.hasTask, !model.hasFinished, !model.isDiscarded else { return false }
                model.isDiscarded = true
                model.end(model.state.discard())
                return true
            },
            Event(name: "finish") { model in
                guard model.hasTask, !model.hasFinished else { return false }
                model.hasFinished = true
                let end = model.state.finish(.success(HTTPResponse(statusCode: 200, request: request)))
                if model.stops > 0, case .success = end.outcome { model.joinedTooLate = true }
                model.end(end.members)
                return true
            },
            Event(name: "abandon") { model in
                guard model.hasTask else { return false }
                model.end(model.state.abandon(CancellationError()).members)
                return true
            },
            Event(name: "exchange begins") { model in
                guard model.hasTask, !model.hasFinished, model.exchanges == 0 else { return false }
                let isStopped = model.state.stopError != nil
                do {
                    try model.state.add(wire)
                    model.exchanges = 1
                    if isStopped { model.startedTooLate = true }
                } catch {}
                return true
            },
            Event(name: "exchange ends") { model in
                guard model.exchanges == 1 else { return false }
                model.state.remove(wire)
                model.exchanges = 0
                return true
            },
            Event(name: "event") { model in
                guard model.hasTask, model.state.eventCount < 2 else { return false }
                let (only, others) = model.state.report(.waitsForNetwork)
                for member in [only].compactMap({ $0 }) + others {
                    guard let index = model.members.firstIndex(where: { $0 === member }) else { continue }
                    if model.known[index] != model.state.eventCount - 1 { model.overtaken = true }
                    model.known[index] = model.state.eventCount
                }
                return true
            },
            idle("idle for some", .seconds(2), hasHead: false), idle("idle for all", .seconds(3), hasHead: true),
        ]
    }

    private static func faults(_ model: Model) -> [String] {
        var faults: [String] = []
        func rule(_ text: String, _ holds: Bool) { if !holds { faults.append(text) } }
        rule("a caller's wait ends at most once", model.callers.allSatisfy { if case .over(let count) = $0 { count == 1 } else { true } })
        let isOver = if case .finished = model.state.phase { true } else { model.state.stopError != nil }
        rule("after the end nobody waits", !isOver || !model.callers.contains(.waiting))
        rule("a flight without callers is over", isOver || model.callers[0] == .outside || model.callers.contains(.waiting))
        rule("a flight is stopped at most once", model.stops <= 1)
        rule("a stop reaches every exchange", !model.unstopped)
        rule("nobody joins what is over, and a stopped flight has no response", !model.joinedTooLate)
        rule("nothing starts in a flight that all callers have left", !model.startedTooLate)
        rule("callers may join a silent flight until it times out for all", !model.misjudgedSilence)
        rule("no event overtakes an earlier one", !model.overtaken)
        return faults
    }

    @Test("in every order of events each caller of a flight gets one outcome, and the last who leaves stops it")
    func everyOrder() throws {
        let explorer = StateExplorer<Model>(
            events: try Self.events(),
            describe: { model in
                let state = shape(
                    model.state,
                    without: [
                        .type(WaiterQueue<Flight.Member>.self), .type(LatestEvents.self), .type(Duration.self),
                        .type(Task<Void, Never>.self),
                    ])
                return
                    "\(state) \(model.state.members.count) \(model.callers) \(model.known) \(model.hasTask) \(model.hasFinished) \(model.isDiscarded) "
                    + "\(model.exchanges) \(model.stops)"
            }, faults: Self.faults)
        let report = explorer.run(from: Model())
        print("flight: \(report.states) states, \(report.steps) steps, sequences of up to \(report.depth) events")
        #expect(report.faults == [:])
        #expect(report.states > 1_000, "the exploration is not empty")
    }

    @Test("a flight hands out the partial response that another one replaces, and keeps none once it has finished")
    func partialResponse() throws {
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let context = CallContext(Call(.success(request), CallOptions(), clock: PipelineClock(ManualClock())))
        let wire = Self.exchange(request, in: context), transport = MockTransport().controlled
        let first = ResponseCollector(request, of: wire, in: context, over: transport, maximumBytes: nil)
        let second = ResponseCollector(request, of: wire, in: context, over: transport, maximumBytes: nil)
        var state = FlightState()
        let none = state.setPartial(first), replaced = state.setPartial(second)
        #expect(none == nil && replaced === first && state.partial === second)
        _ = state.finish(.success(HTTPResponse(statusCode: 200, request: request)))
        #expect(state.partial == nil)
    }
}
