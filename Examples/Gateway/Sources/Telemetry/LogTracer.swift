import Logging
import Tracing

/// A tracer that writes each finished span as one log entry, and sends the trace on as `traceparent` (W3C Trace Context).
///
/// A service in production exports its spans instead, for example with swift-otel.
public struct LogTracer: Tracer {
    private let logger: Logger

    /// Makes a tracer.
    /// - Parameter logger: The receiver of the entries, which have the level `info`.
    public init(_ logger: Logger) { self.logger = logger }

    /// Adds the identifiers of the current trace and span to each log entry.
    public static let metadataProvider = Logger.MetadataProvider {
        guard let parent = ServiceContext.current?.traceParent else { return [:] }
        return ["trace": "\(parent.trace)", "span": "\(parent.span)"]
    }

    /// Starts a span.
    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> LogSpan { LogSpan(operationName, below: context(), kind, at: instant(), logger) }

    /// Returns immediately: no entry waits.
    public func forceFlush() {}

    /// Reads `traceparent`. An invalid value starts another trace.
    public func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier {
        if let value = extractor.extract(key: TraceParent.fieldName, from: carrier) { context.traceParent = TraceParent(value) }
    }

    /// Writes `traceparent`.
    public func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject.Carrier == Carrier {
        if let parent = context.traceParent { injector.inject(parent.value, forKey: TraceParent.fieldName, into: &carrier) }
    }
}
