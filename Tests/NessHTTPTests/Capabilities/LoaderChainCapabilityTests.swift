import Foundation
import NessHTTP
import NessTesting
import Testing

/// The capabilities of the loader chain of "HTTP in Swift" by their numbers in the inventory, where no other suite tests them.
@Suite(.inTurn) struct LoaderChainCapabilityTests {
    private enum Kind: RequestOptionKey { static let defaultValue = "plain" }

    // MARK: values

    @Test(
        "a request is a value with method, URL, header fields, body and options; a change to a copy leaves the original", .covers("HIS-02"))
    func request() throws {
        let request = HTTPRequest(
            .post, url: try url("https://mock.test/a?b=1"), headers: ["X": "1"], body: HTTPBody(Data("x".utf8)), timeout: .seconds(3))
        var copy = request
        copy.method = .put
        copy.url = try url("http://other.test")
        copy.headers["X"] = "2"
        copy.body = nil
        copy.timeout = .seconds(4)
        copy[Kind.self] = "special"
        #expect("\(request.method) \(request.url) \(request.headers["X"] ?? "")" == "POST https://mock.test/a?b=1 1")
        #expect(request.url.scheme == "https" && request.url.host == "mock.test" && request.url.path == "/a" && request.url.query == "b=1")
        #expect(request.body?.data == Data("x".utf8) && request.timeout == .seconds(3) && request[Kind.self] == "plain")
        #expect("\(copy.method) \(copy.url) \(copy.headers["X"] ?? "")" == "PUT http://other.test 2")
        #expect(copy.body == nil && copy.timeout == .seconds(4) && copy[Kind.self] == "special")
    }

    @Test("an error of URLSession becomes a typed error, with the received part of the response", .covers("HIS-04", "HIS-10"))
    func session() async throws {
        let refused = await Ness().httpRequest(withUrl: try await refusingURL()).dataRequest().nessError()
        #expect(refused?.kind == .cannotConnect)
        #expect(Engine.isCurl || (refused?.underlying as NSError?)?.domain == NSURLErrorDomain)
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", garbage = "I am no HTTP server\r\n\r\n"
        try await withServer({ .script([.send($0.path == "/half" ? half : garbage), .close]) }) { _, ness in
            let truncated = await ness.httpRequest(withUrl: "half").dataRequest().nessError()
            #expect(truncated?.kind == .truncated)
            #expect(truncated?.response?.statusCode == 200 && truncated?.response?.text == "half")
            #expect(await ness.httpRequest(withUrl: "garbage").dataRequest().nessError()?.kind == .malformedResponse)
            #expect(await ness.httpRequest(withUrl: "http://").dataRequest().nessError()?.kind == .invalidRequest)
        }
    }

    @Test("environment, retries, credentials and redirects can be set for one request, over the manager's", .covers("HIS-15"))
    func options() async throws {
        let rig = Rig {
            $0.retryControl = CounterRetryControl(maxRetryCount: 5)
            $0.authentication = BearerAuthentication(token: "manager")
        }
        rig.mock.on(.get, "//own.test/v2/x", replies: [.status(503), .status(302, headers: ["Location": "/y"])])
        let own = ServerEnvironment(baseURL: try url("https://own.test/v2"), defaultHeaders: ["X-Own": "1"])
        let message = try await rig.ness.httpRequest(withUrl: "x").set(environment: own)
            .authenticate(with: BasicAuthentication(user: "a", password: "b")).set(redirects: .stop)
            .dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value.message
        #expect(message.statusCode == 302)
        #expect(rig.mock.requests.map(\.url.absoluteString) == Array(repeating: "https://own.test/v2/x", count: 2))
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == Array(repeating: "Basic YTpi", count: 2))
        #expect(rig.mock.requests.allSatisfy { $0.headers["X-Own"] == "1" })
        rig.mock.on(.get, "/x", replies: [.status(503), .status(503), .status(200)])
        #expect(try await rig.ness.httpRequest(withUrl: "x").dataRequest().value.message.statusCode == 200)
        #expect(rig.mock.requests.last?.headers["Authorization"] == "Bearer manager")
        let throttled = Rig(onUnmatched: .reply(.status(200))) { $0.throttle = ThrottleLimit(rate: 1) }
        for _ in 0..<2 { _ = try await throttled.ness.httpRequest(withUrl: "x").dataRequest().value }
        #expect(throttled.clock.sleeps == [.seconds(1)])
    }

    // MARK: ends

    /// A manager with two loaders. Each records the end of the loaders below it.
    private func noting(_ log: Log<String>, _ configure: (inout Ness.Configuration) -> Void) -> Rig {
        Rig { configuration in
            configuration.loaders = ["outer", "inner"].map { name in
                ClosureLoader { request, next in
                    do {
                        let response = try await next(request)
                        log.add(name)
                        return response
                    } catch {
                        log.add("\(name): \((error as? NessError)?.kind.rawValue ?? "cancelled")")
                        throw error
                    }
                }
            }
            configure(&configuration)
        }
    }

    @Test("a drop reaches the loader next to the network first", .covers("HIS-20"))
    func cancelOrder() async throws {
        let log = Log<String>(), reached = TestGate()
        let rig = noting(log) { _ in }
        rig.mock.on(.get, "/x") { _ in
            reached.open()
            await TestGate().wait()
            return .status(200)
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await reached.wait()
        promise.drop()
        #expect(await promise.nessError()?.kind == .dropped)
        await log.wait(for: 2)
        #expect(log.entries == ["inner: dropped", "outer: dropped"])
    }

    @Test("loaders end before the caller is notified, the innermost first; a loader may choose the request's error", .covers("HIS-21"))
    func endOrder() async throws {
        let log = Log<String>(), fails = Lock(false)
        let rig = noting(log) { configuration in
            configuration.insert(
                .modifyRequest { request in
                    guard fails.withLock({ $0 }) else { return }
                    throw NessError.timedOut(NessError.Context(request: request, reason: "the loader has no time"))
                }, .before(.authenticate))
        }
        rig.mock.on(.get, "/x", replies: [.status(200)])
        try await rig.ness.httpRequest(withUrl: "x").dataRequest().then { _ in log.add("caller") }.value
        #expect(log.entries == ["inner", "outer", "caller"])
        fails.withLock { $0 = true }
        let error = await rig.ness.httpRequest(withUrl: "x").dataRequest().handle { _ in log.add("caller") }.nessError()
        #expect(error?.context.reason == "the loader has no time" && error?.request?.url.path == "/x")
        #expect(log.entries.suffix(3) == ["inner: timedOut", "outer: timedOut", "caller"])
    }

    @Test("a handler for drops that is added after the drop runs at once, for a caller or a loader", .covers("HIS-23"))
    func lateHandlers() async throws {
        let reached = TestGate(), go = TestGate(), told = Log<Bool>()
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.loaders = [
                .loader { request, next in
                    reached.open()
                    await Task.detached { await go.wait() }.value
                    let isTold = Lock(false)
                    await withTaskCancellationHandler {
                        told.add(isTold.withLock { $0 })
                    } onCancel: {
                        isTold.withLock { $0 = true }
                    }
                    return try await next(request)
                }
            ]
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(), heard = Log<String>()
        await reached.wait()
        promise.drop()
        promise.handle(on: .immediate) { heard.add(($0 as? NessError)?.kind.rawValue ?? "") }
        #expect(heard.entries == ["dropped"])
        go.open()
        await told.wait(for: 1)
        #expect(told.entries == [true])
        await rig.ness.reset()
        #expect(rig.mock.requests.isEmpty)
    }

    @Test(
        "a control sees a 429 and a validator's refusal, and sets the delay or ends the attempts; a negative delay is zero",
        .covers("HIS-27"),
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

    // MARK: sharing, and types

    @Test("requests with an equal identifier share one exchange; each has its own promise and validators", .covers("HIS-38"))
    func deduplication() async throws {
        /// Merges requests that carry the same identifier.
        struct ByID: DuplicatedHandler {
            func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
                duplicate.request.headers.contains("X-Share") ? .useBothCompletion : .requestSeparately
            }
        }
        let go = TestGate(), wire = ReceiveGates()
        let rig = Rig {
            $0.duplicatedHandler = ByID()
            $0.loaders = [wire]
        }
        rig.mock.on(.post, "/x") { _ in
            await go.wait()
            return .text("one")
        }
        let post = rig.ness.httpRequest(.post, withUrl: "x"), sharing = post.set(headers: ["X-Share": "a"])
        let promises = [sharing, sharing.validate(statusCode: 299), post, post].map { $0.dataRequest() }
        await wire.changed.wait { promises.allSatisfy { $0.status.text.hasPrefix("running") } }
        await rig.mock.waitUntil { $0.requests.count >= 3 }
        go.open()
        #expect(try await promises[0].value.message.text == "one")
        #expect(await promises[1].nessError()?.kind == .validation)
        for promise in promises[2...] { #expect(try await promise.value.message.text == "one") }
        #expect(rig.mock.requests.count == 3)
    }

    @Test("a typed request decodes by its own rule; a decoding error is a failure, and the outcome a Result", .covers("HIS-39"))
    func typedRequests() async throws {
        let rig = Rig(), decoder = PropertyListDecoder()
        let list = try PropertyListEncoder().encode(User(id: 1, name: "a"))
        rig.mock.on(.get, "/users/1", replies: [.data(list), .text("no list")])
        let request = TypedRequest(.get, "users/1") { try decoder.decode(User.self, from: $0.body) }
        let good = rig.ness.request(request)
        _ = try await good.value
        let outcome: Result<User, any Error> = try #require(good.outcome)
        #expect(try outcome.get() == User(id: 1, name: "a"))
        await #expect(throws: DecodingError.self) { _ = try await rig.ness.request(request).value }
    }
}
