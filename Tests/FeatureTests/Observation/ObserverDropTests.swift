import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

@Suite(.inTurn(.withoutSockets)) struct ObserverDropTests {
    typealias Recorder = ObserverTests.Recorder
    private static let dropped = ["failure dropped"] + ObserverTests.ended

    @Test("a loader that ignores a drop delays no end, and its later events are not reported")
    func stubborn() async {
        let recorder = Recorder()
        let reached = TestGate(), goOn = TestGate(), gone = TestGate()
        let rig = ObserverTests.rig([recorder]) { configuration in
            configuration.insert(
                .loader { request, next in
                    reached.open()
                    await Task { await goOn.wait() }.value
                    defer { gone.open() }
                    return try await next(request)
                }, at: .call)
        }
        rig.mock.on(.get, "/x", replies: [.status(200)])
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        promise.drop()
        await recorder.log.wait(for: 4)
        #expect(recorder.events == ["start"] + Self.dropped)
        goOn.open()
        await gone.wait()
        #expect(recorder.events == ["start"] + Self.dropped)
    }

    @Test("observers hear nothing of a request that was dropped before its start, even if its task continues for a moment")
    func beforeTheStart() throws {
        let recorder = Recorder()
        let request = HTTPRequest(url: try url("https://mock.test/x"))
        let observation = Observation([recorder], of: request, isDownload: false, clock: PipelineClock(ContinuousClock()))
        observation.end(.failure(CancellationError()), attempts: 0, isDrop: true)
        observation.begin()
        observation.willSend(request)
        #expect(recorder.events.isEmpty)
    }

    @Test("observers are notified of an end after every event in progress, and of no event after it")
    func endDuringAnEvent() {
        let log = Log<String>(), ending = Lock<@Sendable () -> Void>({})
        let first = Recorder(at: {
            log.add("1 \($0)")
            if $0 == "send " { ending.withLock { $0 }() }
        })
        let second = Recorder(at: { log.add("2 \($0)") })
        let request = HTTPRequest(url: URL(filePath: "/x"))
        let observation = Observation([first, second], of: request, isDownload: false, clock: PipelineClock(ManualClock()))
        observation.begin()
        ending.withLock { $0 = { observation.end(.failure(CancellationError()), attempts: 1) } }
        observation.willSend(request)
        let expected = ["start", "send ", "failure other", "metrics", "end"].flatMap { ["1 \($0)", "2 \($0)"] }
        #expect(log.entries == expected)
        observation.willSend(request)
        #expect(log.entries == expected)
        ending.withLock { $0 = {} }
    }

    @Test("a drop with a reason is a drop for observers, and only the caller gets the reason")
    func reason() async {
        let recorder = Recorder(), rig = ObserverTests.rig([recorder])
        rig.mock.on(.get, "/x", after: TestGate()) { _ in .status(200) }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        promise.drop(becauseOf: Rejected(name: "enough"))
        await #expect(throws: Rejected(name: "enough")) { _ = try await promise.value }
        await recorder.log.wait { $0.contains("end") }
        #expect(Array(recorder.events.suffix(3)) == Self.dropped)
    }

    @Test(
        "a drop from inside any event ends the request once, in order",
        arguments: ["start", "send d", "exchange", "head", "received 503", "retry 0.0 503"])
    func inside(event: String) async {
        let ness = Lock<Ness?>(nil)
        let recorder = Recorder(at: { if $0 == event { ness.withLock { $0 }?.dropAllRequests() } })
        let other = Recorder()
        let rig = ObserverTests.rig([recorder, other])
        ness.withLock { $0 = rig.ness }
        rig.mock.on(.get, "/x", replies: [.status(503), .status(503)])
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1))
        #expect(await promise.nessError()?.kind == .dropped)
        await Log.wait(for: "end", in: [recorder.log, other.log])
        for events in [recorder.events, other.events] {
            #expect(events.first == "start")
            #expect(Array(events.suffix(3)) == Self.dropped)
            #expect(events.count { $0 == "start" || $0 == "end" || $0.hasPrefix("failure") || $0.hasPrefix("success") } == 3)
        }
        ness.withLock { $0 = nil }
    }

    @Test("an observer may send requests, each of which starts and ends once")
    func sending() async throws {
        let ness = Lock<Ness?>(nil)
        let recorder = Recorder(), received = Tally()
        let sender = Recorder(at: { event in
            guard event == "received 200", received.enter() == 0 else { return }
            ness.withLock { $0 }?.httpRequest(withUrl: "y").dataRequest()
        })
        let rig = ObserverTests.rig([sender, recorder])
        ness.withLock { $0 = rig.ness }
        rig.mock.on(.get, "/x", replies: [.status(200)])
        rig.mock.on(.get, "/y", replies: [.status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        await recorder.log.wait(for: 16)
        let whole = ObserverTests.answered(200) + ["success 200"] + ObserverTests.ended
        #expect(recorder.events.sorted() == (whole + whole).sorted())
        ness.withLock { $0 = nil }
    }

    @Test("the manager's validators judge before the request's, up to the first that rejects the response; a control may retry")
    func managersValidators() async throws {
        struct Judge: ResponseValidator {
            let name: String
            let asked: Log<String>

            func validate(for response: HTTPResponse) -> ResponseValidatorResult {
                asked.add(name)
                return name == "2" && response.headers.contains("Stale") ? .invalidWithReason("the second minds") : .valid
            }
        }
        let recorder = Recorder(), asked = Log<String>()
        let rig = ObserverTests.rig([recorder]) { $0.validators = ["1", "2", "3"].map { Judge(name: $0, asked: asked) } }
        let stale = Reply.status(200, headers: ["Stale": "yes"])
        rig.mock.on(.get, "/x", replies: [stale, stale, .status(200)])
        let builder = rig.ness.httpRequest(withUrl: "x").validate(using: Judge(name: "own", asked: asked))
        let error = await builder.dataRequest().nessError()
        #expect(error?.kind == .validation && error?.context.reason == "the second minds" && error?.response?.statusCode == 200)
        #expect(asked.entries == ["1", "2"])
        #expect(recorder.events == ObserverTests.answered(200) + ["failure validation"] + ObserverTests.ended)
        _ = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(asked.entries == ["1", "2", "1", "2", "1", "2", "3", "own"])
        #expect(recorder.events.contains("retry 0.0 validation"))
    }
}

extension Log where Element == String {
    /// Suspends until every log has an entry.
    static func wait(for entry: String, in logs: [Log<String>]) async {
        for log in logs { await log.wait { $0.contains(entry) } }
    }
}
