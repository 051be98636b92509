import Logging
import Synchronization
import Tracing

/// A span that becomes a log entry at its end.
public final class LogSpan: Span {
    private struct State {
        var name: String
        var attributes: SpanAttributes = [:]
        /// The names of events, errors and links.
        var events: [String] = []
        var hasFailed = false
        var hasEnded = false
    }

    /// The context of the spans below this one.
    public let context: ServiceContext
    private let kind: SpanKind
    private let parent: TraceParent?
    private let start: UInt64
    private let logger: Logger
    private let state: Mutex<State>

    init(_ name: String, below context: ServiceContext, _ kind: SpanKind, at start: some TracerInstant, _ logger: Logger) {
        var context = context
        parent = context.traceParent
        context.traceParent = TraceParent(below: parent)
        (self.context, self.kind, self.start, self.logger) = (context, kind, start.nanosecondsSinceEpoch, logger)
        state = Mutex(State(name: name))
    }

    /// The message of the entry.
    public var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// The metadata of the entry.
    public var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    /// True until the end.
    public var isRecording: Bool { state.withLock { !$0.hasEnded } }

    /// Marks the span as failed, if the status is an error.
    public func setStatus(_ status: SpanStatus) { state.withLock { $0.hasFailed = status.code == .error } }

    /// Adds the name of the event.
    public func addEvent(_ event: SpanEvent) { state.withLock { $0.events.append(event.name) } }

    /// Adds the type of the error. Its description may have secrets.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) { state.withLock { $0.events.append("\(type(of: error))") } }

    /// Adds the identifier of the other span.
    public func addLink(_ link: SpanLink) { state.withLock { $0.events.append("link \(link.context.traceParent?.span ?? "")") } }

    /// Writes the entry. A second end writes nothing.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let (state, isFirst) = state.withLock { state in
            defer { state.hasEnded = true }
            return (state, !state.hasEnded)
        }
        guard isFirst, let own = context.traceParent else { return }
        var metadata: Logger.Metadata = ["trace": "\(own.trace)", "span": "\(own.span)", "kind": "\(kind)"]
        if let parent { metadata["parent"] = "\(parent.span)" }
        metadata["seconds"] = "\(Double(instant().nanosecondsSinceEpoch &- start) / 1e9)"
        if !state.events.isEmpty { metadata["events"] = "\(state.events)" }
        if state.hasFailed { metadata["failed"] = "true" }
        state.attributes.forEach { name, value in metadata[name] = Self.text(value).map { "\($0)" } }
        logger.info("\(state.name)", metadata: metadata)
    }

    /// Returns the value of an attribute; `nil` for the types that Ness and the proxy do not use.
    private static func text(_ attribute: SpanAttribute) -> String? {
        switch attribute {
        case .string(let value): value
        case .bool(let value): "\(value)"
        case .int32(let value): "\(value)"
        case .int64(let value): "\(value)"
        case .double(let value): "\(value)"
        case .stringConvertible(let value): "\(value)"
        default: nil
        }
    }
}
