import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Retry controls: the failures they are asked about, and the effect of their decisions.
@Suite(.inTurn(.withoutSockets)) struct RetryControlTests {

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

    @Test(
        "without a control nothing is retried; a request's control replaces the manager's",
        arguments: [(nil, nil, 1), (1, nil, 2), (1, 2, 3), (nil, 2, 3), (1, 0, 1)] as [(Int?, Int?, Int)])
    func controls(manager: Int?, own: Int?, count: Int) async throws {
        let rig = Rig { $0.retryControl = manager.map { limit in ClosureRetryControl.decide { $0.number <= limit ? .retry : .noRetry } } }
        rig.mock.on(.get, "/x", replies: [.status(503)])
        _ = try await rig.ness.get("x").set(retry: own.map { CounterRetryControl(maxRetryCount: $0) }).dataRequest().value
        #expect(rig.mock.requests.count == count)
    }

    @Test("transient failures are retried where that is safe; a bad certificate, URL or redirect is not")
    func passing() async throws {
        for control in [BackoffRetryControl(maxRetryCount: 1) { $0.lowerBound }, CounterRetryControl(maxRetryCount: 1)]
            as [any RetryControl]
        {
            for kind in TransportError.Kind.allCases {
                let rig = Rig()
                rig.mock.on(.get, "/x", replies: [.failure(TransportError(kind, "why")), .status(200)])
                _ = try? await rig.ness.get("x").dataRequest(with: control).value
                #expect(rig.mock.requests.count == ([.tls, .invalidRequest, .addressRejected].contains(kind) ? 1 : 2), "\(kind)")
            }
            let rig = Rig()
            rig.mock.on(.get, "/x") { _ in .status(302, headers: ["Location": "/x"]) }
            let looping = rig.ness.get("x").set(redirects: .follow(limit: 2)).dataRequest(with: control)
            #expect(await looping.nessError()?.kind == .redirect)
            #expect(rig.mock.requests.count == 3)
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
        "a control sees a 429 and a validation failure, and decides asynchronously on no retry, one now or one after a delay",
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
            DispatchQueue(label: "later").async { decide(decision) }
        }
        let busy = try await rig.ness.httpRequest(withUrl: "busy").dataRequest(with: control).value.message.statusCode
        #expect(busy == (attempts == 1 ? 429 : 200))
        _ = try? await rig.ness.httpRequest(withUrl: "refused").validate(statusCode: 201).dataRequest(with: control).value
        #expect(asked.entries == [429, 200])
        #expect(rig.mock.requests.count == 2 * attempts)
        #expect(rig.clock.sleeps == (sleeps + sleeps).map { .seconds($0) })
    }
}
