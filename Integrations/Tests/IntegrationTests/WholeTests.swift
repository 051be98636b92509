import Foundation
import InMemoryTracing
import NessHTTP
import NessTesting
import NessTracing
import Synchronization
import Testing
import Tracing

/// The spans, metrics and log lines of typical requests, as the guide *In a service* shows them.
@Suite struct WholeTests {
    @Test func retry() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/users/1", replies: [.status(503), .text("hello")])
        let request = rig.ness.get("users/1").set(tags: RequestTags(route: "users/{id}", requestID: "r1", values: ["tenant": "north"]))
        _ = try await request.dataRequest(with: CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: 2)).value
        #expect(
            rig.spans == [
                "GET users/{id} status_code=200 [retry 2.0 503]",
                "  GET users/{id} full=https://mock.test/users/1 status_code=503 type=503 error",
                "  GET users/{id} full=https://mock.test/users/1 status_code=200 resend_count=1",
            ])
        #expect(rig.values(of: "http.client.request.duration") == ["users/{id} 200: 0.0", "users/{id} 503 503: 0.0"])
        #expect(rig.values(of: "ness.request.duration") == ["users/{id} 200: 2.0"])
        #expect(rig.values(of: "ness.retries") == ["users/{id} 503: 1"] && rig.values(of: "ness.attempts") == ["users/{id}: 2"])
        #expect(rig.values(of: "http.client.response.body.size") == ["users/{id}: 5"])
        #expect(
            rig.log.lines == [
                "debug sends", "debug received status_code=503", "warning retries attempt=1 delay=2.0 type=503", "debug sends",
                "debug received status_code=200", "info succeeded status_code=200 source=network attempts=2 duration=2.0 received=5",
            ])
        let metadata = try #require(rig.log.entries.withLock { $0.last?.metadata })
        #expect(metadata["request.id"] == "r1" && metadata["url.template"] == "users/{id}" && metadata["tenant"] == "north")
        #expect(metadata["url.full"] == "https://mock.test/users/1" && metadata["http.request.method"] == "GET")
        let span = try #require(rig.tracer.finishedSpans.last)
        #expect(
            span.attributes["request.id"]?.toSpanAttribute() == .string("r1")
                && span.attributes["tenant"]?.toSpanAttribute() == .string("north"))
    }

    @Test func refresh() async throws {
        let rig = Rig {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": "Bearer \($0)"]
            } refresh: { _, _ in
                "new"
            }
        }
        rig.mock.on(.get, "/a") { $0.headers["Authorization"] == "Bearer new" ? .text("x") : .status(401) }
        _ = try await rig.ness.get("a").dataRequest().value
        #expect(
            rig.spans == [
                "GET status_code=200 [refresh] [wait 0.0 refresh]", "  GET full=https://mock.test/a status_code=401 type=401 error",
                "  GET full=https://mock.test/a status_code=200 resend_count=1",
            ])
        #expect(rig.values(of: "ness.refreshes") == [": 1"])
        #expect(rig.values(of: "ness.wait.duration") == ["refresh: 0.0"] && rig.values(of: "ness.waiting") == ["refresh: 1, 0"])
    }

    @Test func coalesced() async throws {
        let rig = Rig(), gate = TestGate(), joined = TestGate()
        rig.mock.on(.get, "/a") { _ in
            await gate.wait()
            return .text("x")
        }
        let count = Mutex(0)
        rig.ness.observers.append(
            Joins {
                let all = count.withLock {
                    $0 += 1
                    return $0
                }
                if all == 3 { joined.open() }
            })
        let promises = (0..<3).map { _ in rig.ness.get("a").dataRequest() }
        await joined.wait()
        gate.open()
        for promise in promises { _ = try await promise.value }
        let spans = rig.spans
        #expect(spans.filter { $0 == "GET status_code=200 linked" }.count == 2)
        #expect(spans.filter { $0 == "GET status_code=200" }.count == 1)
        #expect(spans.filter { $0 == "  GET full=https://mock.test/a status_code=200" }.count == 1)
        let exchange = try #require(rig.tracer.finishedSpans.first { $0.kind == .client })
        for span in rig.tracer.finishedSpans {
            for link in span.links { #expect(link.context.inMemorySpanContext == exchange.spanContext) }
        }
        #expect(rig.values(of: "ness.joined") == [": 2"] && rig.values(of: "http.client.request.duration") == ["200: 0.0"])
        #expect(rig.values(of: "http.client.active_requests") == [": 1, 0"])
    }

    @Test func cacheHit() async throws {
        let rig = Rig { $0.cache = HTTPCache(memoryLimit: 1 << 20) }
        rig.mock.on(.get, "/a", replies: [.text("hello", headers: ["Cache-Control": "max-age=60"])])
        for _ in 0..<2 { _ = try await rig.ness.get("a").dataRequest().value }
        #expect(
            rig.spans == [
                "GET status_code=200", "  GET full=https://mock.test/a status_code=200", "GET status_code=200 [cache cache]",
            ])
        #expect(rig.values(of: "ness.request.duration") == ["200 cache: 0.0", "200: 0.0"])
        #expect(rig.log.lines.last == "info succeeded status_code=200 source=cache attempts=0 duration=0.0 received=0")
    }

    @Test func redirect() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/a", replies: [.status(302, headers: ["Location": "https://other.test/b?token=hunter2"])])
        rig.mock.on(.get, "https://other.test/b", replies: [.text("x")])
        _ = try await rig.ness.get("a").dataRequest().value
        #expect(
            rig.spans == [
                "GET status_code=200", "  GET full=https://mock.test/a status_code=302",
                "  GET full=https://other.test/b?token=<redacted> status_code=200 resend_count=1",
            ])
        let addresses = rig.metrics.timers(label: "http.client.request.duration").map {
            $0.dimensions.first { $0.0 == "server.address" }?.1
        }
        // The other host was chosen by a server.
        #expect(Set(addresses) == ["mock.test", nil])
    }

    @Test func circuitBreaker() async throws {
        let rig = Rig {
            $0.circuitBreaker = CircuitBreakerLimit(minimumRequests: 1)
            $0.limitGroup = { $0.url.path == "/b" ? LimitGroup("b", circuitBreaker: CircuitBreakerLimit(minimumRequests: 1)) : nil }
        }
        let last = TestGate()
        rig.ness.observers.append(GroupBreaker { last.open() })
        rig.mock.on(.get, "/a", replies: [.status(503), .status(200)])
        rig.mock.on(.get, "/b", replies: [.status(503)])
        _ = try await rig.ness.get("a").response()
        rig.clock.advance(by: .seconds(30))
        _ = try await rig.ness.get("a").response()
        _ = try await rig.ness.get("b").response()
        await last.wait()
        #expect(rig.values(of: "ness.circuit_breakers") == ["halfOpen: 1, 0", "open b: 1", "open: 1, 0"])
        let address = rig.metrics.meters(label: "ness.circuit_breakers").first?.dimensions.first { $0.0 == "server.address" }?.1
        #expect(address == "mock.test")
        let entries = rig.log.entries.withLock { $0.filter { $0.message == "circuit breaker" } }
        #expect(entries.map(\.level) == [.warning, .info, .info, .warning])
        #expect(entries.first?.metadata["circuit_breaker.origin"] == "https://mock.test:443")
        #expect(entries.last?.metadata == ["circuit_breaker.state": "open", "circuit_breaker.group": "b"])
    }

    @Test func connections() async throws {
        try await TestServer.with(.text("x")) { server in
            let rig = Rig(usesMock: false)
            for _ in 0..<2 { _ = try await rig.ness.get(server.url).response() }
            #expect(rig.values(of: "ness.connections") == [": 1"])
            await rig.ness.shutdown(within: .seconds(1))
        }
    }

    @Test func streamThatIsLeft() async throws {
        try await TestServer.with(.script([.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na\nb\n\r\n"), .stall])) {
            server in
            let rig = Rig(usesMock: false) { $0.baseURL = server.url }
            for try await _ in rig.ness.get("x").streamRequest().lines { break }
            await rig.ness.shutdown(within: .zero)
            #expect(rig.spans.count == 2 && rig.spans.first == "GET status_code=200")
            #expect(rig.spans.last?.contains("type=dropped error") == true)
            #expect(rig.tracer.activeSpans.isEmpty)
        }
    }

    @Test func pausedDownload() async throws {
        let rig = Rig()
        let folder = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let started = TestGate(), never = TestGate()
        let count = Mutex(0)
        rig.mock.on(.get, "/a") { _ in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            started.open()
            if number == 1 { await never.wait() }
            return .text("hello")
        }
        let download = rig.ness.get("a").downloadRequest(forSavedLocation: folder.appending(path: "a"))
        await started.wait()
        download.pause()
        download.resume()
        _ = try await download.value
        #expect(rig.spans.first == "GET status_code=200 [pause] [resume]")
        never.open()
        await rig.ness.shutdown(within: .zero)
        #expect(rig.spans.count == 3 && rig.tracer.activeSpans.isEmpty)
    }

    @Test("a span ends once in each case, and contains no text of an error")
    func failures() async throws {
        let rig = Rig(), gate = TestGate(), started = TestGate()
        rig.mock.on(.get, "/lost", replies: [.failure(.connectionLost)])
        rig.mock.on(.get, "/slow") { _ in
            started.open()
            await withTaskCancellationHandler {
                await gate.wait()
            } onCancel: {
                gate.open()
            }
            return .text("late")
        }
        rig.mock.on(.get, "/text", replies: [.text("no JSON", headers: ["Content-Type": "application/json"])])
        _ = try? await rig.ness.get("lost?token=hunter2").dataRequest().value
        _ = try? await rig.ness.get("text").dataRequest(decoding: Int.self).value
        let promise = rig.ness.get("slow").dataRequest()
        await started.wait()
        promise.drop()
        await rig.ness.shutdown(within: .zero)
        #expect(
            rig.spans == [
                "GET type=connectionLost error", "  GET full=https://mock.test/lost?token=<redacted> type=connectionLost error",
                "GET status_code=200 type=decoding error", "  GET full=https://mock.test/text status_code=200", "GET type=dropped error",
                "  GET full=https://mock.test/slow type=dropped error",
            ])
        #expect(rig.tracer.activeSpans.isEmpty)
        #expect(!"\(rig.log.entries.withLock { $0 })".contains("hunter2"))
        #expect(rig.log.lines.contains("info dropped attempts=1 duration=0.0 received=0 type=dropped"))
    }

    @Test("the span of a request is a child of its caller's, and the server gets the context of the exchange, unless the caller says no")
    func propagation() async throws {
        let tracer = InMemoryTracer(), mock = MockTransport()
        mock.on(.get, "*", replies: [.text("x")])
        let ness = Ness {
            $0.transport = mock
            $0.trace(with: tracer) { $0.url.host != "other.test" }
        }
        try await tracer.withSpan("incoming") { _ in
            _ = try await ness.get("https://mock.test/a").dataRequest().value
            _ = try await ness.get("https://other.test/b").response()
        }
        let spans = tracer.finishedSpans
        let incoming = try #require(spans.first { $0.operationName == "incoming" })
        let requests = spans.filter { $0.parentSpanID == incoming.spanID }
        #expect(requests.count == 2 && Set(spans.map(\.traceID)).count == 1)
        let exchanges = spans.filter { $0.kind == .client }
        #expect(Set(exchanges.map(\.parentSpanID)) == Set(requests.map(\.spanID)))
        let injected = mock.requests.map { $0.headers["in-memory-span-id"] }
        #expect(injected.contains(nil) && injected.contains { id in exchanges.contains { $0.spanID == id } })
    }

    @Test("a redirect to a server that must not receive the context removes it, and restores a field of the caller")
    func propagationBehindARedirect() async throws {
        let tracer = InMemoryTracer(), mock = MockTransport()
        mock.on(.get, "https://mock.test/a", replies: [.status(302, headers: ["Location": "https://other.test/b"])])
        mock.on(.get, "https://other.test/b", replies: [.text("x")])
        let ness = Ness {
            $0.transport = mock
            $0.trace(with: tracer) { $0.url.host != "other.test" }
        }
        _ = try await ness.get("https://mock.test/a").set(headers: ["in-memory-span-id": "caller"]).dataRequest().value
        let sent = mock.requests.map { $0.headers["in-memory-span-id"] }
        #expect(sent.count == 2 && sent.first != "caller" && sent.last == "caller")
        #expect(mock.requests.last?.headers["in-memory-trace-id"] == nil)
    }

    @Test("a caller who leaves a shared exchange ends its part of it, and one who resumes joins it again")
    func comesBack() async throws {
        let rig = Rig(), gate = TestGate(), started = TestGate()
        let folder = FileManager.default.temporaryDirectory.appending(path: "ness-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        rig.mock.on(.get, "/a") { _ in
            started.open()
            await gate.wait()
            return .text("hello")
        }
        let file = folder.appending(path: "a")
        let callers = Mutex(0), joined = TestGate()
        rig.ness.observers.append(
            Joins {
                let all = callers.withLock {
                    $0 += 1
                    return $0
                }
                if all == 2 { joined.open() }
            })
        let first = rig.ness.get("a").downloadRequest(forSavedLocation: file)
        await started.wait()
        let second = rig.ness.get("a").downloadRequest(forSavedLocation: file)
        await joined.wait()
        first.pause()
        first.resume()
        gate.open()
        _ = try await first.value
        _ = try await second.value
        #expect(rig.values(of: "http.client.active_requests").allSatisfy { $0.hasSuffix(" 0") })
        #expect(rig.tracer.activeSpans.isEmpty)
    }

    @Test("a request that a loader makes is in the metrics and leaves nothing behind")
    func requestOfALoader() async throws {
        let rig = Rig {
            $0.insert(
                .loader { request, next in
                    _ = try await next(HTTPRequest(url: request.url))
                    return try await next(request)
                }, at: .call)
        }
        rig.mock.on(.get, "/a", replies: [.text("x")])
        _ = try await rig.ness.get("a").dataRequest().value
        #expect(rig.values(of: "http.client.active_requests") == [": 1, 0, 1, 0"])
        #expect(rig.values(of: "ness.request.duration") == ["200: 0.0"])
    }

    @Test("the metadata of a log entry are those of the caller, even at an end on another thread")
    func metadataProvider() async throws {
        enum Local { @TaskLocal static var name = "none" }
        let recorder = LogRecorder(), mock = MockTransport()
        mock.on(.get, "/a", replies: [.text("x")])
        let logger = recorder.logger(.init { ["local": "\(Local.name)"] })
        let ness = Ness {
            $0.transport = mock
            $0.log(to: logger)
        }
        _ = try await Local.$name.withValue("caller") { ness.get("https://mock.test/a").dataRequest() }.value
        #expect(recorder.entries.withLock { $0 }.allSatisfy { $0.metadata["local"] == "caller" })
    }
}

/// Calls a closure for each exchange that a caller begins or joins.
private struct Joins: RequestObserver {
    let note: @Sendable () -> Void
    func requestDidBeginExchange(_ exchange: RequestExchange, of request: HTTPRequest) { note() }
}

/// Notes a change of a group's circuit breaker.
private struct GroupBreaker: RequestObserver {
    let note: @Sendable () -> Void
    func circuitBreakerDidChange(_ change: CircuitBreakerChange) { if change.group != nil { note() } }
}

extension TestServer {
    /// Starts a server that replies the same to each request, and stops it afterwards.
    static func with(_ reply: Reply, _ body: (TestServer) async throws -> Void) async throws {
        let server = try await TestServer.start { _ in reply }
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}
