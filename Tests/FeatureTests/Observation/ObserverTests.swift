import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct ObserverTests {
    typealias Recorder = EventRecorder

    static func rig(_ observers: [any RequestObserver], _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Rig {
        Rig {
            $0.defaultHeaders = ["X-Default": "d"]
            $0.observers = observers
            configure(&$0)
        }
    }

    static let sent = ["start", "send d", "exchange"]
    static func answered(_ status: Int) -> [String] { sent + ["head", "received \(status)"] }
    static let ended = ["metrics", "end"]

    @Test("a request with retries is one start and one end, with every attempt between")
    func retries() async throws {
        let recorder = Recorder()
        let rig = Self.rig([recorder])
        rig.mock.on(.get, "/x", replies: [.failure(.timedOut), .status(503), .status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(
            with: CounterRetryControl(maxRetryCount: 2, timeIntervalBeforeTryToRetry: 3)
        ).value
        let expected =
            Self.sent + ["retry 3.0 timedOut"] + Self.answered(503).dropFirst() + ["retry 3.0 503"] + Self.answered(200).dropFirst()
            + ["success 200"] + Self.ended
        #expect(recorder.events == expected)
    }

    @Test("a response that is rejected, too large or cannot be decoded is reported in order")
    func refused() async {
        let recorder = Recorder()
        let rig = Self.rig([recorder]) { $0.maximumResponseBytes = 10 }
        rig.mock.on(.get, "/404", replies: [.status(404)])
        rig.mock.on(.get, "/large", replies: [.text("more than ten bytes")])
        rig.mock.on(.get, "/bad") { _ in .chunked([Data("no JSON".utf8)], headers: ["Content-Type": "application/json"]) }
        rig.mock.on(.get, "/type") { _ in .text("no JSON") }
        let ness = rig.ness
        _ = await ness.httpRequest(withUrl: "404").validate(statusCode: 200).dataRequest().nessError()
        #expect(recorder.events == Self.answered(404) + ["failure validation"] + Self.ended)
        _ = await ness.httpRequest(withUrl: "large").dataRequest().nessError()
        #expect(Array(recorder.events.dropFirst(8)) == Self.sent + ["head", "failure responseTooLarge"] + Self.ended)
        let sends: [@Sendable () -> Promise<User>] = [
            { ness.httpRequest(withUrl: "bad").dataRequest(decoding: User.self) }, { ness.request(TypedRequest<User>.get("bad")) },
        ]
        for send in sends {
            let before = recorder.events.count
            #expect(await send().nessError()?.kind == .decoding)
            #expect(Array(recorder.events.dropFirst(before)) == Self.answered(200) + ["failure decoding"] + Self.ended)
        }
        let before = recorder.events.count
        #expect(await ness.request(TypedRequest<User>.get("type")).nessError()?.kind == .validation)
        #expect(Array(recorder.events.dropFirst(before)) == Self.answered(200) + ["failure validation"] + Self.ended)
    }

    @Test("a response that the outermost loader has changed is decoded as changed")
    func changedOutside() async throws {
        let recorder = Recorder()
        let rig = Self.rig([recorder]) { configuration in
            configuration.insert(.modifyResponse { $0.body = Data(#"{"id":2,"name":"b"}"#.utf8) }, at: .call)
        }
        rig.mock.on(.get, "/x") { _ in .json(User(id: 1, name: "a")) }
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: User.self).value.id == 2)
    }

    @Test("a request that cannot be sent starts and ends; one that could not be built does neither")
    func unsent() async {
        let recorder = Recorder()
        let rig = Self.rig([recorder])
        _ = await rig.ness.httpRequest(withUrl: "x").set(headers: ["A": "b\r\nc"]).dataRequest().nessError()
        #expect(recorder.events == ["start", "send d", "failure invalidRequest"] + Self.ended)
        _ = await rig.ness.httpRequest(withUrl: "http://[").dataRequest().nessError()
        _ = await rig.ness.httpRequest(.post, withUrl: "x").set(jsonEncodable: Double.nan).dataRequest().nessError()
        #expect(recorder.events.count == 5)
        let homeless = Recorder()
        _ = await Self.rig([homeless]) { $0.baseURL = nil }.ness.httpRequest(withUrl: "x").dataRequest().nessError()
        #expect(homeless.events == ["start", "failure invalidRequest"] + Self.ended)
    }

    @Test("redirects and a renewed credential are exchanges of one attempt")
    func exchanges() async throws {
        let recorder = Recorder()
        let rig = Self.rig([recorder]) { $0.authentication = refreshing() }
        rig.mock.on(.get, "/a", replies: [.status(302, headers: ["Location": "/b"])])
        rig.mock.on(.get, "/b") { $0.headers["Authorization"] == "new" ? .status(200) : .status(401) }
        _ = try await rig.ness.httpRequest(withUrl: "a").dataRequest().value
        let once = ["exchange", "head", "exchange", "head"]
        #expect(recorder.events == ["start", "send d"] + once + once + ["received 200", "success 200"] + Self.ended)
    }

    @Test("the observers of each caller get all events of a shared exchange")
    func duplicates() async throws {
        let recorder = Recorder()
        let reached = TestGate(), goOn = TestGate()
        let rig = Self.rig([recorder])
        rig.mock.on(.get, "/x") { _ in
            reached.open()
            await goOn.wait()
            return .status(200)
        }
        let first = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        let second = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await recorder.log.wait(for: 6)
        #expect(recorder.events == Self.sent + Self.sent)
        goOn.open()
        _ = try await (first.value, second.value)
        await recorder.log.wait(for: 16)
        #expect(rig.mock.requests.count == 1)
        let whole = Self.answered(200) + ["success 200"] + Self.ended
        #expect(recorder.events.sorted() == (whole + whole).sorted())
    }

    @Test("after a follow-up, an attempt's request is the original with the manager's additions")
    func defaults() async throws {
        let recorder = Recorder()
        let rig = Self.rig([recorder]) { $0.loaders = [.followUp { $0.statusCode == 409 ? .retry : .accept }] }
        rig.mock.on(.get, "/x", replies: [.status(409), .status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(recorder.events == Self.sent + ["head", "exchange", "head", "received 200", "success 200"] + Self.ended)
    }

    @Test("a success is reported in order; observers are called in their order, and all get an event before the next event")
    func several() async throws {
        let log = Log<String>()
        let rig = Self.rig(["a", "b"].map { name in Recorder(at: { log.add("\(name) \($0)") }) })
        rig.mock.on(.get, "/x", replies: [.status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        let events = Self.answered(200) + ["success 200"] + Self.ended
        #expect(log.entries == events.flatMap { ["a \($0)", "b \($0)"] })
    }

    @Test("observers, validators and parsing run off the main thread, handlers on the queue that they name")
    @MainActor func threads() async throws {
        struct Watched: ConnectionSpec {
            let places: Log<Bool>
            let url = "x"
            func validate(response: HTTPResponse) -> Bool {
                places.add(isOnMainQueue())
                return true
            }
            func parseResponse(response: HTTPResponse) throws -> Int {
                places.add(isOnMainQueue())
                return 1
            }
        }
        let places = Log<Bool>(), handlers = Log<Bool>()
        let rig = ObserverTests.rig([Recorder(at: { _ in places.add(isOnMainQueue()) })])
        rig.mock.on(.get, "/x", replies: [.status(200)])
        let promise = rig.ness.request(Watched(places: places))
        _ = try await promise.then(on: .main) { _ in handlers.add(isOnMainQueue()) }.then { handlers.add(isOnMainQueue()) }.value
        #expect(handlers.entries == [true, false])
        await places.wait(for: 10)
        #expect(places.entries == Array(repeating: false, count: 10))
    }

    private enum Trace { @TaskLocal static var id = "none" }

    @Test("without sharing, drops and timeouts, observers see the task-local values of the code that started the request")
    func taskLocalValues() async throws {
        let seen = Log<String>(), recorder = Recorder(at: { _ in seen.add(Trace.id) }), rig = ObserverTests.rig([recorder])
        rig.mock.on(.get, "/x", replies: [.status(200)])
        let promise = Trace.$id.withValue("a") { rig.ness.httpRequest(withUrl: "x").dataRequest() }
        _ = try await promise.value
        let cycle = ObserverTests.answered(200) + ["success 200"] + ObserverTests.ended
        await recorder.log.wait(for: cycle.count)
        #expect(seen.entries.count >= cycle.count - 1 && Set(seen.entries) == ["a"], "\(seen.entries)")
    }
}
