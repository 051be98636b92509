import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The deadline of a call that is paused at unusual moments.
@Suite(.inTurn(.withoutSockets)) struct CallPauseTests {
    private let clock = ManualClock()
    private let running = RunningRequests()

    private func call(_ observers: [any RequestObserver] = []) throws -> Call {
        var request = HTTPRequest(url: try url("https://mock.test/film"))
        request.deadline = .seconds(10)
        var options = CallOptions()
        options.epoch = running.epoch
        return Call(.success(request), options, observers: observers, clock: PipelineClock(clock))
    }

    @Test("a pause before the request starts holds the deadline back until the resume")
    func pauseBeforeBegin() throws {
        let call = try call()
        call.pause()
        try call.begin(in: running)
        #expect(call.deadlineEnd == nil)
        clock.advance(by: .seconds(60))
        call.resume()
        #expect(call.deadlineEnd == .seconds(70))
    }

    private final class Order: RequestObserver {
        let events = Log<String>()

        func requestDidStart(_ request: HTTPRequest) { events.add("start") }
        func requestDidPause(_ request: HTTPRequest) { events.add(Thread.isMainThread ? "pause on main" : "pause") }
        func requestDidResume(_ request: HTTPRequest) { events.add("resume") }
    }

    @Test("observers receive the start before the pause, even if the request is paused before it starts, and off the main thread")
    func orderOfEvents() async throws {
        let order = Order(), call = try call([order])
        await MainActor.run { call.pause() }
        try call.begin(in: running)
        await MainActor.run { call.resume() }
        await order.events.wait(for: 3)
        #expect(order.events.entries == ["start", "pause", "resume"])
    }

    @Test("the time of a pause does not count, however often the caller pauses")
    func timeLeft() throws {
        let call = try call()
        try call.begin(in: running)
        for round in 1...4 {
            clock.advance(by: .seconds(2))
            call.pause()
            #expect(call.deadlineEnd == nil)
            clock.advance(by: .seconds(60))
            call.resume()
            #expect(call.deadlineEnd == .seconds(10 + 60 * round))
        }
    }
}
