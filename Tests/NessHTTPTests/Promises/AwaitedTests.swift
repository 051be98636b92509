import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests of requests that run in the task that awaits them. The end of such a request ends its current wait.
@Suite(.inTurn) struct AwaitedTests {
    enum Cause: CaseIterable { case cancel, deadline, silence, dropAll, reset }
    enum Place: CaseIterable { case wire, queue, throttle }

    private static var cases: [(Cause, Place, Bool)] {
        Cause.allCases.flatMap { cause in
            Place.allCases.flatMap { place in
                // A request in a queue waits as long as it has to.
                cause == .silence && place != .wire ? [] : [(cause, place, false), (cause, place, true)]
            }
        }
    }

    @Test("a cancel, a deadline, a silent server, a drop and a reset end an awaited request wherever it waits", arguments: cases)
    func everyEnd(cause: Cause, place: Place, isShared: Bool) async throws {
        let arrived = TestGate(), go = TestGate(), clock = ManualClock()
        try await serving { request in
            guard request.path == "/held" else { return .text("free") }
            arrived.open()
            await go.wait()
            return .text("late")
        } _: { server in
            let ness = Ness {
                $0.baseURL = server.url
                $0.clock = clock
                $0.duplicatedHandler = isShared ? nil : DefaultDuplicatedHandler.requestAllSeparately
                $0.maximumConnectionsPerHost = place == .queue ? 1 : 8
                if place == .throttle { $0.throttle = ThrottleLimit(rate: 0.001) }
            }
            var blocking: DataPromise?
            if place == .queue {
                blocking = ness.get("held").dataRequest()
                await arrived.wait()
            } else if place == .throttle {
                _ = try await ness.get("free").response()
            }
            let path = place == .wire ? "held" : "waiting"
            let request = ness.get(path).add(group: "awaited").set(timeout: .seconds(60), deadline: cause == .deadline ? .seconds(20) : nil)
            let awaited = Task { try await request.response() }
            switch place {
            case .wire: await arrived.wait()
            case .queue: try await ness.waitForRequests(1, at: .hostQueue)
            case .throttle: try await ness.waitForRequests(1, at: .throttle)
            }
            switch cause {
            case .cancel: awaited.cancel()
            case .silence: clock.advance(by: .seconds(61))
            case .deadline: clock.advance(by: .seconds(20))
            // Not that which holds the place: the one that waits may otherwise get it before its own turn to be dropped.
            case .dropAll: ness.dropAllRequests(in: "awaited")
            case .reset: await ness.reset()
            }
            let error = await #expect(throws: NessError.self) { try await awaited.value }
            #expect(error?.kind == (cause == .deadline || cause == .silence ? .timedOut : .dropped))
            blocking?.drop()
            go.open()
            // Every place is free again.
            let probes = (0..<8).map { _ in ness.get("free").withoutQueueing().dataRequest() }
            for probe in probes { #expect(try await probe.value.message.text == "free") }
            guard cause != .reset else { return }
            #expect(server.requests.allSatisfy { $0.path != "/waiting" }, "what was ended in a queue is not sent")
        }
    }

    @Test("an awaited request whose task is canceled leaves its exchange to the callers who share it")
    func canceledShared() async throws {
        let arrived = TestGate(), go = TestGate(), joining = LimitedJoining(1)
        try await withServer { _ in
            arrived.open()
            await go.wait()
            return .text("shared")
        } configure: {
            $0.duplicatedHandler = joining
        } _: { server, ness in
            let request = ness.get("x")
            let awaited = Task { try await request.response() }
            await arrived.wait()
            let second = request.dataRequest()
            await joining.waitUntilJoined(by: request)
            awaited.cancel()
            guard case .failure(let error) = await awaited.result else {
                Issue.record("it succeeded")
                return
            }
            #expect((error as? NessError)?.kind == .dropped)
            go.open()
            let shared = try await second.value.message
            #expect(shared.text == "shared")
            #expect(server.requests.count == 1)
        }
    }

    @Test("an awaited request of a manager with a loader that ignores cancellation returns when its task is canceled")
    func deafLoader() async throws {
        struct Deaf: HTTPLoader {
            let reached: TestGate, go: TestGate
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
                reached.open()
                await go.wait()
                return try await next(request)
            }
        }
        let reached = TestGate(), go = TestGate()
        for place in LoaderPlace.allCases {
            let rig = Rig(onUnmatched: .reply(.status(200))) { $0.insert(Deaf(reached: reached, go: go), at: place) }
            let awaited = Task { try await rig.ness.get("x").response() }
            await reached.wait()
            awaited.cancel()
            let error = await #expect(throws: NessError.self) { try await awaited.value }
            #expect(error?.kind == .dropped)
        }
        go.open()
    }
}
