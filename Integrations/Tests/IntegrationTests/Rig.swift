import Foundation
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import NessHTTP
import NessLogging
import NessMetrics
import NessTesting
import NessTracing
import Synchronization
import Testing
import Tracing

/// A manager over a mock, with all observers, and what they have recorded.
struct Rig {
    let mock: MockTransport
    let clock = ManualClock(advancesAutomatically: true)
    let ness: Ness
    let tracer = InMemoryTracer()
    let metrics = TestMetrics()
    let log = LogRecorder()

    init(usesMock: Bool = true, _ configure: (inout Ness.Configuration) -> Void = { _ in }) {
        let mock = MockTransport(clock: clock)
        self.mock = mock
        let (clock, tracer, metrics, log) = (clock, tracer, metrics, log)
        ness = Ness { configuration in
            if usesMock { configuration.transport = mock }
            configuration.clock = clock
            configuration.baseURL = URL(string: "https://mock.test/")
            configuration.log(to: log.logger)
            configuration.measure(with: metrics)
            configuration.trace(with: tracer)
            configure(&configuration)
        }
    }

    /// The finished spans as lines, each child below its parent.
    var spans: [String] {
        let all = tracer.finishedSpans
        let names = Dictionary(uniqueKeysWithValues: all.map { ($0.spanID, Int($0.spanID.split(separator: "-").last ?? "0") ?? 0) })
        func lines(below parent: String?, _ indentation: String) -> [String] {
            let children = all.filter { span in
                parent.map { span.parentSpanID == $0 } ?? (span.parentSpanID.map { names[$0] == nil } ?? true)
            }
            return children.sorted { names[$0.spanID] ?? 0 < names[$1.spanID] ?? 0 }.flatMap { span in
                [indentation + Self.line(span)] + lines(below: span.spanID, indentation + "  ")
            }
        }
        return lines(below: nil, "")
    }

    private static func line(_ span: FinishedInMemorySpan) -> String {
        var line = span.operationName
        for name in ["url.full", "http.response.status_code", "http.request.resend_count", "error.type"] {
            if let value = span.attributes[name]?.toSpanAttribute() { line += " \(name.split(separator: ".").last ?? "")=\(text(value))" }
        }
        if span.status?.code == .error { line += " error" }
        for event in span.events {
            var values: [String] = []
            event.attributes.forEach { key, value in if key != "ness.attempt" { values.append(text(value)) } }
            line += " [\(([event.name] + values.sorted()).joined(separator: " "))]"
        }
        if !span.links.isEmpty { line += " linked" }
        return line
    }

    private static func text(_ attribute: SpanAttribute) -> String {
        switch attribute {
        case .string(let value): value
        case .int32(let value): "\(value)"
        case .int64(let value): "\(value)"
        case .double(let value): "\(value)"
        default: "\(attribute)"
        }
    }

    /// The values of a metric by its dimensions besides method, address and port.
    func values(of name: String) -> [String] {
        func key(_ dimensions: [(String, String)]) -> String {
            dimensions.filter { !["http.request.method", "server.address", "server.port"].contains($0.0) }.map(\.1).joined(separator: " ")
        }
        let counters = metrics.counters(label: name).map { "\(key($0.dimensions)): \($0.totalValue)" }
        let timers = metrics.timers(label: name).map { timer in
            "\(key(timer.dimensions)): \(timer.values.map { "\(Double($0) / 1e9)" }.joined(separator: ", "))"
        }
        let recorders = metrics.recorders(label: name).map {
            "\(key($0.dimensions)): \($0.values.map { "\(Int($0))" }.joined(separator: ", "))"
        }
        let meters = metrics.meters(label: name).map { "\(key($0.dimensions)): \($0.values.map { "\(Int($0))" }.joined(separator: ", "))" }
        return (counters + timers + recorders + meters).sorted()
    }
}

/// Keeps the entries of a logger.
final class LogRecorder: Sendable {
    struct Entry: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadataProvider: Logger.MetadataProvider?
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.entries.withLock { $0.append(Entry(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])) }
        }
    }

    let entries = Mutex<[Entry]>([])

    var logger: Logger { logger(nil) }

    func logger(_ provider: Logger.MetadataProvider?) -> Logger {
        Logger(label: "test") { _ in Handler(recorder: self, metadataProvider: provider) }
    }

    /// The entries as lines: level, message, and the values of some metadata.
    var lines: [String] {
        entries.withLock { $0 }.map { entry in
            let names = ["http.response.status_code", "source", "attempt", "attempts", "delay", "duration", "bytes.received", "error.type"]
            let values = names.compactMap { name in entry.metadata[name].map { "\(name.split(separator: ".").last ?? "")=\($0)" } }
            return (["\(entry.level)", entry.message] + values).joined(separator: " ")
        }
    }
}
