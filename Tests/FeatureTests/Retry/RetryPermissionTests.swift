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
        "the manager's control applies only if a retry is safe; the request's own always applies",
        arguments: 0..<6, [HTTPMethod.get, .put, .delete, .post, .patch])
    func table(failure: Int, method: HTTPMethod) async throws {
        let (reply, isSeen) = Self.failures[failure]
        for (isOwn, isMarked) in [(false, false), (true, false), (false, true)] {
            let control = AskedControl(CounterRetryControl(maxRetryCount: 1))
            let rig = Rig { if !isOwn { $0.retryControl = control } }
            rig.mock.on(nil, "/x", replies: [reply, .status(200)])
            var request = rig.ness.httpRequest(method, withUrl: "x")
            if isMarked { request = request.set(isIdempotent: true) }
            _ = try? await request.set(retry: isOwn ? control : nil).dataRequest().value
            let isAllowed = isOwn || isMarked || method.isIdempotent || !isSeen
            #expect(rig.mock.requests.count == (isAllowed ? 2 : 1), "own: \(isOwn), marked: \(isMarked)")
            #expect(control.asked.entries.count == (isAllowed ? 1 : 0))
        }
    }

    @Test("a request with the control `.never` is sent once, regardless of the manager's control; nil means the manager's")
    func never() async throws {
        let rig = Rig { $0.retryControl = CounterRetryControl(maxRetryCount: 2) }
        rig.mock.on(.get, "/x") { _ in .failure(.connectionLost) }
        #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest(with: .never).nessError()?.context.attempts == 1)
        #expect(await rig.ness.httpRequest(withUrl: "x").set(retry: nil).dataRequest().nessError()?.context.attempts == 3)
    }

    @Test("the error names a Retry-After that ended the attempts")
    func namedRetryAfter() async throws {
        let rig = Rig { $0.retryControl = BackoffRetryControl(maxRetryCount: 3, maxDelay: .seconds(10)) }
        rig.mock.on(.get, "/x") { _ in .status(503, headers: ["Retry-After": "3600"]) }
        let error = await rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest().nessError()
        #expect(error?.context.reason.contains("the server asks to wait 3600.0 seconds") == true, "\(error?.context.reason ?? "")")
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a wait that would pass the deadline ends the attempts immediately, with the last response", arguments: [true, false])
    func waitBeyondDeadline(byServer: Bool) async throws {
        let rig = Rig(advances: false)
        rig.mock.on(.get, "/x") { _ in .status(503, headers: byServer ? ["Retry-After": "1"] : [:]) }
        let control = CounterRetryControl(maxRetryCount: 3, timeIntervalBeforeTryToRetry: byServer ? 0 : 1)
        let promise = rig.ness.httpRequest(withUrl: "x").set(deadline: .milliseconds(300)).dataRequest(with: control)
        #expect(try await promise.value.message.statusCode == 503)
        #expect(rig.mock.requests.count == 1)
        #expect(rig.clock.now.offset == .zero)
    }

    @Test(
        "a POST with a status of a server that did not process it is sent again, even by the manager's control or a combined one",
        arguments: [true, false], [true, false])
    func refused(isOwn: Bool, isCombined: Bool) async throws {
        let backoff = BackoffRetryControl(maxRetryCount: 3, repeatsRefused: [429, 503, 529])
        let control: any RetryControl = isCombined ? ClosureRetryControl.any([.backoff(maxRetryCount: 1), backoff]) : backoff
        let rig = Rig { if !isOwn { $0.retryControl = control } }
        rig.mock.on(.post, "/orders", replies: [.status(429, headers: ["Retry-After": "0"]), .status(529), .status(201)])
        let request = rig.ness.post("orders").set(stringBody: "order").validate()
        #expect(try await request.set(retry: isOwn ? control : nil).dataRequest().value.message.statusCode == 201)
        #expect(rig.mock.received.map(\.bodyText) == ["order", "order", "order"])
    }

    @Test("other statuses and failures of a POST end it, and so do all of them without `repeatsRefused`")
    func notRefused() async throws {
        let controls: [any RetryControl] = [
            BackoffRetryControl(maxRetryCount: 1, repeatsRefused: [429]), .any([.backoff(maxRetryCount: 1)]), .decide { _ in .retry },
            Eager(),
        ]
        for control in controls {
            for reply in [Reply.status(500), .status(503), .failure(.connectionLost), .failure(.timedOut)] {
                let rig = Rig { $0.retryControl = control }
                rig.mock.on(.post, "/x", replies: [reply, .status(201)])
                _ = try? await rig.ness.post("x").response()
                #expect(rig.mock.requests.count == 1)
            }
        }
    }

    @Test("a failure of a redirect's GET does not repeat the POST that led to it; one of a redirected POST does")
    func refusedAfterRedirect() async throws {
        for (status, count) in [(303, 2), (307, 4)] {
            let rig = Rig { $0.retryControl = BackoffRetryControl(maxRetryCount: 1, repeatsRefused: [503]) }
            rig.mock.on(.post, "/x") { _ in .status(status, headers: ["Location": "/y"]) }
            rig.mock.on(nil, "/y", replies: [.status(503), .status(201)])
            #expect(try await rig.ness.post("x").response().statusCode == (count == 2 ? 503 : 201))
            #expect(rig.mock.requests.count == count)
        }
    }

    @Test("a POST on which the server may have acted is not sent again because a request after it failed unsent")
    func actedBeforeRedirect() async throws {
        for (status, reply, count) in [(303, Reply.failure(.offline), 1), (302, .failure(.cannotConnect), 1), (307, .failure(.offline), 4)]
        {
            let rig = Rig { $0.retryControl = BackoffRetryControl(maxRetryCount: 3) }
            rig.mock.on(.post, "orders") { _ in .status(status, headers: ["Location": "https://other.test/receipt"]) }
            rig.mock.on(nil, "https://other.test/receipt") { _ in reply }
            let error = await rig.ness.post("orders").set(stringBody: "order").dataRequest().nessError()
            #expect(rig.mock.requests.filter { $0.url.path == "/orders" }.count == count, "\(status)")
            #expect(error?.mayHaveReachedServer == (count == 1), "\(status)")
        }
    }

    @Test("a POST is not sent again because a loader's own request after it failed unsent", arguments: [0, 1, 2])
    func actedBeforeSideRequest(place: Int) async throws {
        struct Audit: HTTPLoader {
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
                let response = try await next(request)
                _ = try await next(HTTPRequest(url: #require(URL(string: "https://audit.test/"))))
                return response
            }
        }
        let rig = Rig {
            $0.retryControl = BackoffRetryControl(maxRetryCount: 3)
            $0.insert(Audit(), at: [.attempt, .authenticated, .exchange][place])
        }
        rig.mock.on(.post, "orders") { _ in .status(201) }
        rig.mock.on(.get, "https://audit.test/") { _ in .failure(.cannotConnect) }
        #expect(await rig.ness.post("orders").set(stringBody: "order").dataRequest().nessError()?.kind == .cannotConnect)
        #expect(rig.mock.requests.filter { $0.method == .post }.count == 1)
    }

    @Test("after an attempt that the server did not process, a POST that could not be sent is sent again")
    func unsentAfterRefusal() async throws {
        let rig = Rig { $0.retryControl = BackoffRetryControl(maxRetryCount: 3, repeatsRefused: [503]) }
        rig.mock.on(.post, "orders", replies: [.status(503), .failure(.cannotConnect), .status(201)])
        #expect(try await rig.ness.post("orders").dataRequest().value.message.statusCode == 201)
    }

    @Test("an error says that the server may have seen the request if an earlier attempt reached it")
    func seenInEarlierAttempt() async throws {
        let rig = Rig()
        rig.mock.on(.post, "orders", replies: [.failure(.connectionLost), .failure(.cannotConnect)])
        let error = await rig.ness.post("orders").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).nessError()
        #expect(error?.kind == .cannotConnect && error?.mayHaveReachedServer == true)
    }

    @Test("a rejection after a redirect does not repeat a PATCH on which the redirecting server may have acted")
    func refusedBehindAction() async throws {
        let rig = Rig { $0.retryControl = BackoffRetryControl(maxRetryCount: 2, repeatsRefused: [503]) }
        rig.mock.on(.patch, "/a") { _ in .status(302, headers: ["Location": "/b"]) }
        rig.mock.on(.patch, "/b") { _ in .status(503) }
        #expect(try await rig.ness.patch("a").response().statusCode == 503)
        #expect(rig.mock.requests.map(\.url.path) == ["/a", "/b"])
    }
}
