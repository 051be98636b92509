import Foundation
import NessHTTP
import NessTesting
import Testing

/// PMHTTP's credentials and retries, by their numbers in the inventory.
@Suite("PMHTTP: credentials and retries", .inTurn)
struct PMHTTPPolicyTests {
    /// A custom authentication, which records the questions that the manager asks it.
    private struct Own: Authentication {
        let asked = Log<String>()
        let token = Lock("one")
        var renews = true

        func authenticate(_ request: HTTPRequest) async throws -> HTTPRequest {
            var request = request
            request.headers["X-Token"] = token.withLock { $0 }
            return request
        }

        func renew(after response: HTTPResponse) async throws -> Bool {
            asked.add("\(response.statusCode) \(response.request.headers["X-Token"] ?? "-")")
            token.withLock { $0 = "two" }
            return renews
        }
    }

    @Test("a custom authentication adds any field, sees the refused request, and decides whether to resend it", .covers("PMH-67", "PMH-68"))
    func ownAuthentication() async throws {
        for renews in [true, false] {
            let own = Own(renews: renews), rig = Rig { $0.authentication = own }
            rig.mock.on(.get, "/x", replies: [.status(401), .status(200)])
            #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == (renews ? 200 : 401))
            #expect(own.asked.entries == ["401 one"])
            #expect(rig.mock.requests.map { $0.headers["X-Token"] } == (renews ? ["one", "two"] : ["one"]))
        }
    }

    @Test("a refresh gets the refused credential, and the response", .covers("PMH-68", "BP-09"))
    func refusedCredential() async throws {
        let given = Log<String>()
        let rig = Rig {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { stale, response in
                given.add("\(stale) \(response.statusCode) \(response.text)")
                return "new"
            }
        }
        rig.mock.on(.get, "/x", replies: [.text("expired", status: 401), .status(200)])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(given.entries == ["old 401 expired"])
    }

    @Test("authentication is asked about a 401 only; a 403 is for the retry control, if a validator refuses it", .covers("PMH-69"))
    func forbidden() async throws {
        let own = Own(), control = AskedControl(), rig = Rig { $0.authentication = own }
        rig.mock.on(.get, "/x", replies: [.status(403), .status(200)])
        let promise = rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest(with: control)
        #expect(try await promise.value.message.statusCode == 200)
        #expect(own.asked.entries.isEmpty && control.asked.entries.map { $0.response?.statusCode } == [403])
    }

    @Test("each attempt has the credential that is current then", .covers("PMH-72"))
    func eachAttempt() async throws {
        let own = Own(), rig = Rig { $0.authentication = own }
        rig.mock.on(.get, "/x") { request in
            own.token.withLock { $0 = "changed" }
            return .status(request.headers["X-Token"] == "one" ? 503 : 200)
        }
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(rig.mock.requests.map { $0.headers["X-Token"] } == ["one", "changed"])
    }

    @Test("without a control nothing is retried; a request's control replaces the manager's", .covers("PMH-76"))
    func controls() async throws {
        for (manager, own, count) in [(nil, nil, 1), (1, nil, 2), (1, 2, 3), (nil, 2, 3), (1, 0, 1)] as [(Int?, Int?, Int)] {
            let rig = Rig { $0.retryControl = manager.map { CounterRetryControl(maxRetryCount: $0) } }
            rig.mock.on(.get, "/x", replies: [.status(503)])
            _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: own.map { CounterRetryControl(maxRetryCount: $0) }).value
            #expect(rig.mock.requests.count == count)
        }
    }

    @Test(
        "a closure decides by request, error and attempt, and checks the method itself", .covers("PMH-77"),
        arguments: [HTTPMethod.get, .post])
    func closure(method: HTTPMethod) async throws {
        struct Idempotent: RetryControl {
            let attempts = Log<Int>()
            func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
                attempts.add(attempt.number)
                return attempt.request.method.isIdempotent && attempt.error != nil ? .retry : .noRetry
            }
        }
        let rig = Rig(), control = Idempotent()
        rig.mock.on(method, "/x", replies: [.failure(.timedOut), .failure(.connectionLost), .status(200)])
        let promise = rig.ness.httpRequest(method, withUrl: "x").dataRequest(with: control)
        if method == .get {
            #expect(try await promise.value.message.statusCode == 200)
        } else {
            #expect(await promise.nessError()?.kind == .timedOut)
        }
        #expect(control.attempts.entries == (method == .get ? [1, 2] : [1]))
    }

    @Test("transient failures are retried where that is safe; a bad certificate, URL or redirect is not", .covers("PMH-78"))
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

    @Test("retries are once and immediate, after a delay, or by a custom rule", .covers("PMH-81"))
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

    @Test("a retry starts from the original request, before its redirects", .covers("PMH-83"))
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

    @Test("a mock sees a request with its credential, and with the whole body even if it is sent in pieces", .covers("PMH-94"))
    func mocked() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file")
            try Data("from disk".utf8).write(to: file)
            let rig = Rig { $0.authentication = BearerAuthentication(token: "token") }
            rig.mock.on(.post, "/x") { .text("\($0.headers["Authorization"] ?? "-") \($0.bodyText)") }
            var form = MultipartForm()
            form.append(file: file, named: "f")
            form.append(named: "made") { HTTPBody(Data("later".utf8)) }
            let text = try await rig.ness.httpRequest(.post, withUrl: "x").set(multipart: form).dataRequest().value.message.text
            #expect(text.hasPrefix("Bearer token --") && text.contains("\r\n\r\nfrom disk\r\n") && text.contains("\r\n\r\nlater\r\n"))
        }
    }
}
