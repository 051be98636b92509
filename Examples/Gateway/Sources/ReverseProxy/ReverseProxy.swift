import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import Metrics
import NIOCore
import NessHTTP
import NessHTTPTypes
import NessLogging
import NessMetrics
import NessTracing
import Tracing

/// Passes each request of a client to one upstream, and the response back, while both arrive.
public struct ReverseProxy: Sendable {
    let ness: Ness
    let logger: Logger
    private let upstream: Upstream
    private let tracer: (any Tracer)?
    private let slowestBody: BodyRate?
    private let clock: any Clock<Duration>
    /// The longest time for the request of a client; `nil` for no limit.
    private let deadline: Duration?
    /// False over URLSession, which decodes every body.
    private let keepsContentCoding: Bool

    /// Makes a proxy.
    /// - Parameters:
    ///   - upstream: The server that requests are forwarded to.
    ///   - slowestBody: The slowest rate at which a client may send its body. A slower one gets a 408. `nil` for no limit.
    ///   - logger: The receiver of an entry for each request.
    ///   - metrics: The receiver of the metrics; `nil` for that of `MetricsSystem`.
    ///   - tracer: The tracer of each request; `nil` for that of `InstrumentationSystem`.
    ///   - configure: Changes the client's configuration, such as its timeouts or its circuit breaker.
    public init(
        to upstream: Upstream, slowestBody: BodyRate? = BodyRate(), logger: Logger, metrics: (any MetricsFactory)? = nil,
        tracer: (any Tracer)? = nil, _ configure: (inout Ness.Configuration) -> Void = { _ in }
    ) {
        (self.upstream, self.slowestBody, self.logger, self.tracer) = (upstream, slowestBody, logger, tracer)
        // Without cookies, cache and coalescing: the preset has none. The client follows redirects and repeats requests, not the proxy.
        var keepsContentCoding = false
        var clock: any Clock<Duration> = ContinuousClock()
        var deadline: Duration?
        ness = Ness(.server) {
            $0.redirects = .stop
            $0.retryControl = nil
            $0.log(to: logger)
            $0.measure(with: metrics)
            $0.trace(with: tracer)
            configure(&$0)
            keepsContentCoding = $0.transport.keepsContentCoding
            clock = $0.clock
            deadline = $0.deadline
        }
        self.clock = clock
        self.deadline = deadline
        self.keepsContentCoding = keepsContentCoding
    }

    /// Handles one request of a client, in a span.
    /// - Throws: An error if the connection to the client has to be closed.
    @Sendable func respond(to request: Request, with writer: consuming ResponseWriter, on channel: any Channel) async throws {
        let span = ServerSpan(of: request, tracer)
        do {
            try await respond(to: request, with: writer, on: channel, in: span)
            span.end()
        } catch {
            span.end(after: error)
            throw error
        }
    }

    private func respond(
        to request: Request, with writer: consuming ResponseWriter, on channel: any Channel, in span: ServerSpan
    ) async throws {
        let watch = try await channel.pipeline.handler(type: ClientWatch.self).get()
        defer { watch.onLeave(nil) }
        // The interim responses for the client, in order. They end when the head or an error is there.
        let (interims, interim) = AsyncStream<HTTPTypes.HTTPResponse>.makeStream()
        var body: ClientBody?
        let answer: (stream: StreamPromise, result: StreamResult, head: HTTPTypes.HTTPResponse)
        do {
            try HostField.check(request)
            body = try ClientBody(request, pace: slowestBody.map { BodyPace($0, on: clock) }) {
                if request.expectsContinue { interim.yield(.init(status: .continue)) }
            }
            let builder = try builder(for: request, body, from: channel.remoteAddress)
                .onInterim { if $0.statusCode != 100 { interim.yield($0.forwardedHead) } }
            // The client's span starts below the one that is current here.
            let stream = ServiceContext.withValue(span.context) { builder.streamRequest() }
            watch.onLeave { stream.drop() }
            stream.finally(on: .immediate) { _, _ in interim.finish() }
            for await head in interims { try? await writer.writeInformationalHead(head) }
            let result = try await stream.value
            do {
                answer = (stream, result, try result.message.finalHead())
            } catch {
                stream.drop()
                throw error
            }
        } catch {
            // A client does not cause errors of other types.
            let refusal = error as? Refusal ?? (error as? NessError).map(Refusal.init) ?? Refusal(500)
            // The client has left, which is nobody's failure.
            if (error as? NessError)?.kind != .dropped { span.set(status: refusal.status) }
            return try await refuse(request, refusal, body, with: writer)
        }
        span.set(status: answer.head.status.code)
        // A client that was not told to send its body may send something else next.
        let leavesBody = request.expectsContinue && body?.isWanted == false
        try await pass(answer.head, answer.result, of: answer.stream, to: request, closing: leavesBody, with: writer)
        // Hummingbird reads the next request now.
        try await body?.finish()
    }

    /// Makes the upstream's request from the client's.
    private func builder(for request: Request, _ body: ClientBody?, from client: SocketAddress?) throws -> RequestBuilder {
        let url = try upstream.url(for: request.head.path ?? "")
        var headers = try ForwardedFields.toUpstream(request, from: client)
        let id = RequestFields.id(of: headers)
        headers[RequestFields.idName] = id
        var builder = ness.httpRequest(.custom(request.method.rawValue), withUrl: url).set(headers: headers)
            .set(tags: RequestTags(route: upstream.route, requestID: id))
            // The client decodes the content, if it has a coding.
            .set(option: KeepsContentCoding.self, to: keepsContentCoding)
        if let timeout = try RequestFields.timeout(of: headers) {
            // A client can only shorten the time that the operator allows.
            builder = builder.set(deadline: ness.deadline(after: deadline.map { min($0, timeout) } ?? timeout))
        }
        guard let body else { return builder }
        return builder.set(streamBody: body, length: body.length).set(expectsContinue: request.expectsContinue)
    }

    /// Passes a response to the client. The upstream is held back while the client does not read.
    /// - Throws: The upstream's error inside the body. The connection then has to be closed, or a part would look like the whole.
    private func pass(
        _ head: HTTPTypes.HTTPResponse, _ result: StreamResult, of stream: StreamPromise, to request: Request, closing: Bool,
        with writer: consuming ResponseWriter
    ) async throws {
        // Leaves the upstream's connection if the client has left.
        defer { stream.drop() }
        var head = head
        // SwiftNIO would send such a head as if a body in chunks followed.
        let isHeadWithoutLength =
            request.method == .head && ![204, 304].contains(head.status.code) && head.headerFields[.contentLength] == nil
        if isHeadWithoutLength || closing { head.headerFields[.connection] = "close" }
        var body = try await writer.writeHead(head)
        if isHeadWithoutLength { throw ClosesConnection() }
        for try await chunk in result.chunks { try await body.write(ByteBuffer(bytes: chunk)) }
        let takesTrailers = request.headers[values: .te].contains { $0.lowercased().contains("trailers") }
        try await body.finish(takesTrailers ? ForwardedFields.toClient(trailers: stream.response?.trailers ?? [:]) : nil)
        if closing { throw ClosesConnection() }
    }

    /// Responds without the upstream.
    private func refuse(_ request: Request, _ refusal: Refusal, _ body: ClientBody?, with writer: consuming ResponseWriter) async throws {
        var refusal = refusal
        // The client may wait for a 100, or start another request: nothing tells what it sends next.
        if request.expectsContinue, body?.isWanted != true { refusal.closesConnection = true }
        try await writer.writeResponse(refusal.head)
        if refusal.closesConnection { throw ClosesConnection() }
        try await body?.finish()
    }
}

extension Request {
    /// True if the client sends the body only after a 100 (RFC 9110, 10.1.1).
    fileprivate var expectsContinue: Bool { headers[.expect]?.lowercased() == "100-continue" }
}

extension NessHTTP.HTTPResponse {
    /// The head of the response for the client, without its length.
    fileprivate var forwardedHead: HTTPTypes.HTTPResponse {
        var head = HTTPTypes.HTTPResponse(self)
        head.headerFields = ForwardedFields.toClient(head.headerFields)
        return head
    }

    /// Returns the head of the final response for the client.
    /// - Throws: `Refusal` with 502 if the upstream's lengths contradict each other.
    fileprivate func finalHead() throws -> HTTPTypes.HTTPResponse {
        var head = forwardedHead
        head.headerFields[.contentLength] = try ForwardedFields.length(of: headers, status: statusCode).map { "\($0)" }
        return head
    }
}
