import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Tests README's table of methods, failures and controls: which control may retry which request.
@Suite(.inTurn(.withoutSockets)) struct RetryPermissionTests {
    private static let failures: [(reply: Reply, isSeen: Bool)] = [
        (.failure(.truncated), true), (.failure(.connectionLost), true), (.failure(.timedOut), true), (.status(503), true),
        (.failure(.cannotConnect), false), (.failure(.offline), false),
    ]

    @Test(
        "the manager's control is asked only if another attempt does no harm; the request's own is always asked", .covers("C7"),
        arguments: 0..<6, [HTTPMethod.get, .put, .delete, .post, .patch])
    func table(failure: Int, method: HTTPMethod) async throws {
        let (reply, isSeen) = Self.failures[failure]
        for (isOwn, isMarked) in [(false, false), (true, false), (false, true)] {
            let control = AskedControl(CounterRetryControl(maxRetryCount: 1))
            let rig = Rig { if !isOwn { $0.retryControl = control } }
            rig.mock.on(nil, "/x", replies: [reply, .status(200)])
            var request = rig.ness.httpRequest(method, withUrl: "x")
            if isMarked { request = request.set(isIdempotent: true) }
            _ = try? await request.dataRequest(with: isOwn ? control : nil).value
            let isAllowed = isOwn || isMarked || method.isIdempotent || !isSeen
            #expect(rig.mock.requests.count == (isAllowed ? 2 : 1), "own: \(isOwn), marked: \(isMarked)")
            #expect(control.asked.entries.count == (isAllowed ? 1 : 0))
        }
    }

    @Test("a request with the control `.never` is sent once, whatever the manager's control is; nil means the manager's")
    func never() async throws {
        let rig = Rig { $0.retryControl = CounterRetryControl(maxRetryCount: 2) }
        rig.mock.on(.get, "/x") { _ in .failure(.connectionLost) }
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest(with: .never).nessError()?.context.attempts == 1)
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest(with: nil).nessError()?.context.attempts == 3)
    }

    @Test("the error names a Retry-After that ended the attempts")
    func namedRetryAfter() async throws {
        let rig = Rig { $0.retryControl = BackoffRetryControl(maxRetryCount: 3, maxDelay: .seconds(10)) }
        rig.mock.on(.get, "/x") { _ in .status(503, headers: ["Retry-After": "3600"]) }
        let error = await rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest().nessError()
        #expect(error?.context.reason.contains("the server asks to wait 3600.0 seconds") == true, "\(error?.context.reason ?? "")")
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a wait that would pass the deadline ends the attempts at once, with the last response", arguments: [true, false])
    func waitBeyondDeadline(byServer: Bool) async throws {
        let rig = Rig(advances: false)
        rig.mock.on(.get, "/x") { _ in .status(503, headers: byServer ? ["Retry-After": "1"] : [:]) }
        let control = CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: byServer ? 0 : 1)
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .milliseconds(300)).dataRequest(with: control)
        #expect(try await promise.value.message.statusCode == 503)
        #expect(rig.mock.requests.count == 1)
        #expect(rig.clock.now.offset == .zero)
    }
}
