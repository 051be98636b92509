import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Retry controls: the failures they are asked about, and the effect of their decisions.
@Suite(.inTurn(.withoutSockets)) struct RetryControlTests {
    @Test(
        "a control gets request, response and error, and decides asynchronously on no retry, one now or one after a delay")
    func answers() async throws {
        let rig = Rig(), seen = Log<String>()
        rig.mock.on(.get, "/x", replies: [.failure(.connectionLost), .status(503), .status(500), .status(200)])
        let control = ClosureRetryControl { request, response, error, decide in
            let kind = (error as? NessError)?.kind.rawValue ?? "-"
            seen.add("\(request.url.path) \(response?.statusCode ?? 0) \(kind)")
            DispatchQueue(label: "later").async {
                decide(response == nil ? .retry : response?.statusCode == 503 ? .retry(after: .seconds(7)) : .noRetry)
            }
        }
        let result = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
        #expect(result.message.statusCode == 500)
        #expect(seen.entries == ["/x 0 connectionLost", "/x 503 -", "/x 500 -"])
        #expect(rig.clock.sleeps == [.seconds(7)])
    }

    @Test("a control in one line decides from the attempt, for a request and for a manager")
    func decide() async throws {
        let rig = Rig { $0.retryControl = .decide { $0.number < 2 ? .retry : .noRetry } }
        rig.mock.on(.post, "/x", replies: [.failure(.connectionLost), .status(503), .status(200)])
        let result = try await rig.ness.httpRequest(.post, withUrl: "x")
            .dataRequest(with: .decide { attempt in attempt.response == nil ? .retry : .retryAfter(Double(attempt.number)) }).value
        #expect(result.message.statusCode == 200)
        #expect(rig.clock.sleeps == [.seconds(2)])
        rig.mock.on(.get, "/y", replies: [.status(500)])
        _ = try await rig.ness.httpRequest(withUrl: "y").dataRequest().value
        #expect(rig.mock.requests.count == 5)
    }

    @Test(
        "a control decides about failures and rejected responses of every method, never about a drop",
        arguments: [HTTPMethod.get, .post, .put, .patch, .delete, .custom("PURGE")])
    func asked(method: HTTPMethod) async throws {
        let rig = Rig(), control = AskedControl(Eager()), arrived = TestGate()
        rig.mock.on(method, "/x", replies: [.failure(.connectionLost), .status(404), .status(200)])
        let builder = rig.ness.httpRequest(method, withUrl: "x").validate(statusCode: 200)
        #expect(try await builder.dataRequest(with: control).value.message.statusCode == 200)
        #expect(control.asked.entries.map { ($0.error as? NessError)?.kind } == [.connectionLost, .validation])
        rig.mock.on(method, "/x") { _ in
            arrived.open()
            await TestGate().wait()
            return .status(200)
        }
        let dropped = builder.dataRequest(with: control)
        await arrived.wait()
        dropped.drop()
        #expect(await dropped.nessError()?.kind == .dropped)
        await rig.ness.reset()
        #expect(control.asked.entries.count == 2 && rig.mock.requests.count == 4)
    }

    @Test("without a control nothing is retried; a request's control replaces the manager's")
    func controls() async throws {
        for (manager, own, count) in [(nil, nil, 1), (1, nil, 2), (1, 2, 3), (nil, 2, 3), (1, 0, 1)] as [(Int?, Int?, Int)] {
            let rig = Rig { $0.retryControl = manager.map { CounterRetryControl(maxRetryCount: $0) } }
            rig.mock.on(.get, "/x", replies: [.status(503)])
            _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: own.map { CounterRetryControl(maxRetryCount: $0) }).value
            #expect(rig.mock.requests.count == count)
        }
    }

    @Test("transient failures are retried where that is safe; a bad certificate, URL or redirect is not")
    func passing() async throws {
        let control = BackoffRetryControl(maxRetryCount: 1) { $0.lowerBound }
        for kind in TransportError.Kind.allCases {
            let rig = Rig()
            rig.mock.on(.get, "/x", replies: [.failure(TransportError(kind, "why")), .status(200)])
            _ = try? await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
            #expect(rig.mock.requests.count == ([.tls, .invalidRequest].contains(kind) ? 1 : 2), "\(kind)")
        }
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .status(302, headers: ["Location": "/x"]) }
        let looping = rig.ness.httpRequest(withUrl: "x").set(redirects: .follow(limit: 2)).dataRequest(with: control)
        #expect(await looping.nessError()?.kind == .redirect)
        #expect(rig.mock.requests.count == 3)
    }

    @Test("retries are once and immediate, after a delay, or by a custom rule")
    func strategies() async throws {
        let once = CounterRetryControl(maxRetryCount: 1), delayed = CounterRetryControl(maxRetryCount: 2, timeIntervalBeforeTryToRetry: 2)
        let both = ClosureRetryControl { _, _, error, decide in
            decide((error as? NessError)?.context.attempts == 1 ? .retry : .retryAfter(2))
        }
        let cases: [(any RetryControl, Int, [Duration])] = [
            (once, 2, []), (delayed, 3, [.seconds(2), .seconds(2)]), (both, 3, [.seconds(2)]),
        ]
        for (control, count, sleeps) in cases {
            let rig = Rig()
            rig.mock.on(.get, "/x", replies: [.failure(.connectionLost), .failure(.connectionLost), .status(200)])
            _ = try? await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
            #expect(rig.mock.requests.count == count && rig.clock.sleeps == sleeps)
        }
    }

    @Test("a retry starts from the original request, before its redirects")
    func original() async throws {
        let rig = Rig()
        rig.mock.on(.put, "/from") { _ in .status(307, headers: ["Location": "/to"]) }
        rig.mock.on(.put, "/to", replies: [.status(503), .status(200)])
        let promise = rig.ness.httpRequest(.put, withUrl: "from").set(stringBody: "body")
            .dataRequest(with: CounterRetryControl(maxRetryCount: 1))
        _ = try await promise.value
        let seen = rig.mock.received.map { "\($0.path) \($0.bodyText)" }
        #expect(seen == ["/from body", "/to body", "/from body", "/to body"])
    }

    @Test(
        "a control sees a 429 and a validation failure, and sets the delay or ends the attempts; a negative delay is zero",
        arguments: [
            (.noRetry, 1, []), (.retry, 2, []), (.retryAfter(0), 2, []), (.retryAfter(-1), 2, []), (.retryAfter(.nan), 2, []),
            (.retryAfter(2.5), 2, [2.5]),
        ] as [(RetryControlDecision, Int, [Double])])
    func decisions(decision: RetryControlDecision, attempts: Int, sleeps: [Double]) async throws {
        let asked = Log<Int?>(), rig = Rig()
        rig.mock.on(.get, "/busy", replies: [.status(429), .status(200)])
        rig.mock.on(.get, "/refused", replies: [.status(200), .status(201)])
        let control = ClosureRetryControl { _, response, _, decide in
            asked.add(response?.statusCode)
            decide(decision)
        }
        let busy = try await rig.ness.httpRequest(withUrl: "busy").dataRequest(with: control).value.message.statusCode
        #expect(busy == (attempts == 1 ? 429 : 200))
        _ = try? await rig.ness.httpRequest(withUrl: "refused").validate(statusCode: 201).dataRequest(with: control).value
        #expect(asked.entries == [429, 200])
        #expect(rig.mock.requests.count == 2 * attempts)
        #expect(rig.clock.sleeps == (sleeps + sleeps).map { .seconds($0) })
    }
}
