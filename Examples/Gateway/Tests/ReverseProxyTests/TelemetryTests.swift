import Foundation
import InMemoryTracing
import Logging
import NessHTTP
import NessTesting
import ReverseProxy
import ServiceLifecycle
import Synchronization
import Telemetry
import Testing
import Tracing

@Suite("Logs, metrics and spans", .serialized, .timeLimit(.minutes(2))) struct TelemetryTests {
    @Test("a log entry and the upstream have the client's identifier of the request")
    func requestID() async throws {
        let log = LogRecorder()
        try await withUpstream(telemetry: Receivers(logger: log.logger), { _ in }, { _ in .text("ok") }) { port, server in
            _ = try await exchange(port, "GET /a HTTP/1.1\r\nHost: h\r\nX-Request-Id: r-1\r\nConnection: close\r\n\r\n")
            #expect(server.requests.map { $0.headers["X-Request-Id"] } == ["r-1"])
        }
        let entry = try #require(log.entries.first { $0.message == "succeeded" })
        #expect(entry.metadata["request.id"] == "r-1" && entry.metadata["url.template"] == "/{path}")
    }

    @Test(
        "a request without an identifier, or with one that does not belong into a log, gets another",
        arguments: [[], [""], ["a b"], ["r-1", "r-2"], [String(repeating: "x", count: 129)]])
    func newID(values: [String]) async throws {
        let log = LogRecorder()
        try await withUpstream(telemetry: Receivers(logger: log.logger), { _ in }, { _ in .text("ok") }) { port, server in
            let fields = values.map { "X-Request-Id: \($0)\r\n" }.joined()
            _ = try await exchange(port, "GET /a HTTP/1.1\r\nHost: h\r\n\(fields)Connection: close\r\n\r\n")
            let id = try #require(server.requests.first?.headers["X-Request-Id"])
            #expect(UUID(uuidString: id) != nil)
        }
        let ids = Set(log.entries.compactMap { $0.metadata["request.id"].map { "\($0)" } })
        #expect(ids.count == 1 && ids.allSatisfy { UUID(uuidString: $0) != nil })
    }

    @Test("the span of the client's request is above that of the upstream's request, and that above the one of the exchange")
    func spans() async throws {
        let tracer = InMemoryTracer()
        let seen = TestValue<String?>(nil)
        try await withUpstream(telemetry: Receivers(tracer: tracer), { _ in }, { _ in .text("ok") }) { port, server in
            let ids = "\(InMemoryTracer.traceIDKey): client-trace\r\n\(InMemoryTracer.spanIDKey): client-span\r\n"
            _ = try await exchange(port, "GET /a HTTP/1.1\r\nHost: h\r\n\(ids)Connection: close\r\n\r\n")
            seen.set(server.requests.first?.headers[InMemoryTracer.spanIDKey])
        }
        let spans = tracer.finishedSpans
        #expect(spans.count == 3 && tracer.activeSpans.isEmpty && spans.allSatisfy { $0.traceID == "client-trace" })
        let incoming = try #require(spans.first { $0.kind == .server })
        let request = try #require(spans.first { $0.kind == .internal })
        let sent = try #require(spans.first { $0.kind == .client })
        #expect(incoming.parentSpanID == "client-span" && incoming.operationName == "GET")
        #expect(request.parentSpanID == incoming.spanID && request.operationName == "GET /{path}")
        #expect(sent.parentSpanID == request.spanID && sent.spanID == seen.value)
        #expect(incoming.attributes["http.response.status_code"]?.toSpanAttribute() == .int64(200))
        #expect(incoming.attributes["url.path"]?.toSpanAttribute() == .string("/a") && incoming.status == nil)
    }

    @Test("the span of a request without a response, or with a truncated one, has an error", arguments: ["unreachable", "truncated"])
    func failedSpans(fault: String) async throws {
        let tracer = InMemoryTracer()
        let steps: [ConnectionStep] = [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf!"), .close]
        let server = try await TestServer.start(script: { _ in steps })
        try await withProxy(
            to: fault == "unreachable" ? "http://127.0.0.1:1" : server.url.absoluteString, telemetry: Receivers(tracer: tracer)
        ) { port in
            _ = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        }
        let incoming = try #require(tracer.finishedSpans.first { $0.kind == .server })
        let type = incoming.attributes["error.type"]?.toSpanAttribute()
        #expect(type == .string(fault == "unreachable" ? "502" : "NessError") && incoming.status?.code == .error)
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test("the metrics page has the metrics of the upstream's requests, and no other path")
    func metricsPage() async throws {
        let metrics = PrometheusMetrics()
        let port = TestValue(0)
        try await withUpstream(telemetry: Receivers(metrics: metrics), { _ in }, { _ in .text("ok", status: 404) }) { proxy, server in
            for path in ["a", "b"] { _ = try await exchange(proxy, "GET /\(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") }
            port.set(server.port)
        }
        let (ports, found) = AsyncStream<Int>.makeStream()
        let page = MetricsPage.service(host: "127.0.0.1", port: 0, logger: Receivers().logger) {
            metrics.text
        } onRunning: {
            found.yield($0)
        }
        let running = Task { try await page.run() }
        var iterator = ports.makeAsyncIterator()
        let url = "http://127.0.0.1:\(try #require(await iterator.next()))"
        let response = try await makeClient().get("\(url)/metrics").response()
        let dimensions = "http_request_method=\"GET\",server_address=\"127.0.0.1\",server_port=\"\(port.value)\",url_template=\"/{path}\""
        let lines = response.text.split(separator: "\n")
        #expect(response.headers["Content-Type"] == "text/plain; version=0.0.4")
        #expect(lines.contains { $0.hasPrefix("http_client_request_duration_seconds_count{\(dimensions),") && $0.hasSuffix("} 2") })
        #expect(lines.contains { $0 == "http_client_active_requests{\(dimensions)} 0.0" })
        #expect(lines.contains { $0 == "http_client_response_body_size_sum{\(dimensions)} 4.0" })
        let other = try await makeClient().get("\(url)/").response()
        #expect(other.statusCode == 404)
        running.cancel()
        try await running.value
    }
}

/// Keeps the entries of a logger.
final class LogRecorder: Sendable {
    struct Entry: Sendable {
        let message: String
        let metadata: Logger.Metadata
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.stored.withLock { $0.append(Entry(message: "\(event.message)", metadata: event.metadata ?? [:])) }
        }
    }

    private let stored = Mutex<[Entry]>([])

    var entries: [Entry] { stored.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }
}
