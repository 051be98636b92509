import Logging
import Synchronization
import Telemetry
import Testing
import Tracing

@Suite struct LogTracerTests {
    private let log = Log()
    private var tracer: LogTracer { LogTracer(Logger(label: "test") { _ in Handler(log: log) }) }

    @Test("a finished span is one entry, below its parent")
    func entries() throws {
        struct Fault: Error {}
        let tracer = tracer
        try? tracer.withSpan("outer") { outer in
            outer.attributes["a"] = 1
            tracer.withSpan("inner", ofKind: .client) { inner in
                inner.attributes["b"] = "c"
                inner.addEvent("retry")
                inner.setStatus(SpanStatus(code: .error))
                #expect(inner.isRecording)
            }
            throw Fault()
        }
        let entries = log.entries.withLock { $0 }
        #expect(entries.map(\.message) == ["inner", "outer"])
        let (inner, outer) = (entries[0].metadata, entries[1].metadata)
        #expect(inner["trace"] == outer["trace"] && inner["parent"] == outer["span"] && outer["parent"] == nil)
        #expect(inner["b"] == "c" && inner["kind"] == "client" && inner["events"] == "[\"retry\"]" && inner["failed"] == "true")
        #expect(outer["a"] == "1" && outer["events"] == "[\"Fault\"]")
    }

    @Test("a span that ends twice is one entry")
    func ends() {
        let span = tracer.startSpan("a")
        span.end()
        span.end()
        #expect(!span.isRecording && log.entries.withLock { $0.count } == 1)
    }

    @Test("a valid traceparent is continued, in another span")
    func continues() throws {
        for value in [
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-x",
        ] {
            let sent = try #require(passOn(["traceparent": value])["traceparent"])
            #expect(sent.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-") && sent.hasSuffix("-00"))
            #expect(!sent.contains("b7ad6b7169203331"))
        }
    }

    @Test(
        "an invalid traceparent starts another trace",
        arguments: [
            "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-x",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
            "00-00000000000000000000000000000000-b7ad6b7169203331-00", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-00",
            "00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-00", "00-0gf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
        ])
    func starts(value: String) throws {
        let sent = try #require(passOn(["traceparent": value])["traceparent"])
        #expect(sent.split(separator: "-").map(\.count) == [2, 32, 16, 2])
        #expect(!sent.contains("0af765") && sent.hasSuffix("-01"))
    }

    /// Returns the fields that a service sends on.
    private func passOn(_ fields: [String: String]) -> [String: String] {
        var context = ServiceContext.topLevel
        tracer.extract(fields, into: &context, using: Fields())
        var sent: [String: String] = [:]
        tracer.inject(tracer.startSpan("a", context: context).context, into: &sent, using: Fields())
        return sent
    }
}

private struct Fields: Extractor, Injector {
    func extract(key: String, from fields: [String: String]) -> String? { fields[key] }
    func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
}

private final class Log: Sendable {
    let entries = Mutex<[(message: String, metadata: [String: String])]>([])
}

private struct Handler: LogHandler {
    let log: Log
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        log.entries.withLock { $0.append(("\(event.message)", (event.metadata ?? [:]).mapValues { "\($0)" })) }
    }
}
