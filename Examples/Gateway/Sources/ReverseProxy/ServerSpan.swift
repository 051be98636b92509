import HTTPTypes
import HummingbirdCore
import Tracing

/// The span of a client's request, with the names of OpenTelemetry's conventions for servers.
struct ServerSpan {
    private let span: any Span

    /// Starts a span, in the trace that the request belongs to.
    /// - Parameters:
    ///   - request: The request.
    ///   - tracer: The tracer; `nil` for that of `InstrumentationSystem`.
    init(of request: Request, _ tracer: (any Tracer)?) {
        var context = ServiceContext.topLevel
        let instrument: any Instrument = tracer ?? InstrumentationSystem.instrument
        instrument.extract(request.headers, into: &context, using: FieldExtractor())
        let tracer = tracer ?? InstrumentationSystem.tracer
        span = tracer.startSpan(request.method.rawValue, context: context, ofKind: .server)
        guard span.isRecording else { return }
        span.updateAttributes { attributes in
            attributes["http.request.method"] = request.method.rawValue
            attributes["url.scheme"] = request.head.scheme
            attributes["url.path"] = request.uri.path
        }
    }

    /// The context of the spans below.
    var context: ServiceContext { span.context }

    /// Sets the status of the response. Only one of 500 or more is the server's failure.
    func set(status: Int) {
        guard span.isRecording else { return }
        span.attributes["http.response.status_code"] = status
        if status >= 500 { fail("\(status)") }
    }

    private func fail(_ type: String) {
        span.attributes["error.type"] = type
        span.setStatus(SpanStatus(code: .error))
    }

    /// Ends the span.
    /// - Parameter error: The error with which the response broke off; `nil` for a complete response.
    func end(after error: (any Error)? = nil) {
        if let error, !(error is ClosesConnection) { fail("\(type(of: error))") }
        span.end()
    }
}

private struct FieldExtractor: Extractor {
    func extract(key: String, from fields: HTTPFields) -> String? { HTTPField.Name(key).flatMap { fields[$0] } }
}
