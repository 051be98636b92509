import Foundation
import NessLock

/// Collects a response and checks it: the body must be as long as the header announces.
final class ResponseCollector: Sendable {
    /// The longest body that is collected in memory if a stream or a download does not take the response, such as an error. Such a body may
    /// be endless.
    private static let untakenLimit = 16 << 20

    /// The error that ends the exchange of a redirect whose body is longer than `RedirectHistory.bodyLimit`, or slower than
    /// `ResponseCollectorState.redirectTime`.
    private struct LongRedirect: Error {}

    /// The exchange as observers see it.
    let observed: RequestExchange
    private var request: HTTPRequest { observed.request }
    private let exchange: Exchange
    private let context: CallContext
    private let transport: any ControlledTransport
    /// True if a redirect is certainly followed, or fails the request.
    private let followsRedirects: Bool
    private let sink: (any BodySink)?
    /// The longest body that is accepted. `nil` for any length.
    private let maximumBytes: Int?
    /// The length of the request's body. `nil` if it is unknown, or if there is no body.
    private let bodyLength: Int64?
    private let state = Lock(ResponseCollectorState())

    init(
        _ request: HTTPRequest, of exchange: Exchange, in context: CallContext, over transport: any ControlledTransport, maximumBytes: Int?
    ) {
        observed = RequestExchange(request)
        self.transport = transport
        self.exchange = exchange
        self.context = context
        // The response to a request that a loader made is kept in memory.
        let isLoaderMade = context.request.id != exchange.flight.context.request.id
        sink = isLoaderMade ? nil : exchange.sink
        if case .follow = request.redirects { followsRedirects = !isLoaderMade } else { followsRedirects = false }
        self.maximumBytes = maximumBytes
        bodyLength = request.body?.length
    }

    /// The response as far as it was received. `nil` before its head.
    var response: HTTPResponse? { state.withLock { $0 }.response(makeResponse) }

    private func makeResponse(
        _ statusCode: Int, _ headers: HTTPHeaders, _ body: Data = Data(), _ connection: ConnectionMetrics? = nil
    ) -> HTTPResponse {
        var response = ReceivedHead(statusCode: statusCode, headers: headers, exchange: observed).response
        response.body = body
        if let connection { response.connection = connection }
        if statusCode == 407 { response.proxy = transport.proxy(of: request) }
        return response
    }

    /// Receives an event of a response whose body a sink may take.
    @inline(never)
    func receiveForSink(_ event: TransportEvent) async throws {
        // Synchronous work is in functions that are not inlined. Otherwise the frame of this function would have room for all of it, and
        // allocating the frame would take longer than the work.
        switch event {
        case .head(let statusCode, let headers):
            let head = try receiveHead(statusCode, headers)
            keep(head, try await begin(head))
        case .body(let data):
            let received = try collect(data)
            // For a stream, bytes are reported before the sink takes them: the reader may end the call as soon as it has them.
            let reportsFirst = received.isTaken && sink?.progress == nil
            if reportsFirst { report(received) }
            if received.isTaken { try await passOn(data, received) }
            if !reportsFirst { report(received) }
        case .sent, .connection, .interim, .trailers: try notify(event)
        }
    }

    /// True if a sink may have to be waited for.
    var mayWait: Bool { sink != nil }

    /// Receives an event of a response that is collected in memory: no asynchronous call is made for it.
    @inline(never)
    func receiveInMemory(_ event: TransportEvent) throws {
        switch event {
        case .head(let statusCode, let headers):
            let head = try receiveHead(statusCode, headers)
            keep(head, head.useInMemory)
        case .body(let data): report(try collect(data))
        case .sent, .connection, .interim, .trailers: try notify(event)
        }
    }

    @inline(never)
    private func notify(_ event: TransportEvent) throws {
        switch event {
        case .sent(let bytes):
            exchange.report(.sent(max(0, bytes), of: bodyLength))
        case .connection(let connection):
            state.withLock { $0.connection = connection }
            exchange.report(.connection(connection))
        case .interim(let statusCode, let headers):
            exchange.report(.interim(ReceivedHead(statusCode: statusCode, headers: headers, exchange: observed)))
        case .trailers(let fields):
            guard fields.byteCount <= HTTPHeaders.maximumByteCount else { throw HTTPHeaders.tooLong("trailer") }
            state.withLock { $0.trailers = fields }
        case .head, .body: break
        }
    }

    // MARK: the head

    /// A head that has been checked.
    private struct CheckedHead {
        let statusCode: Int
        let headers: HTTPHeaders
        /// The length that the body must have. `nil` if the head does not determine it.
        let expected: Int64?
        /// True for a redirect that is followed.
        let isFollowed: Bool

        /// The use of the body if no sink takes it.
        var useInMemory: ResponseCollectorState.BodyUse { isFollowed ? .followed : .collected }
    }

    /// Checks a head, and notifies the listeners.
    @inline(never)
    private func receiveHead(_ statusCode: Int, _ headers: HTTPHeaders) throws -> CheckedHead {
        // This limit also bounds the work of all code that parses header fields.
        guard headers.byteCount <= HTTPHeaders.maximumByteCount else { throw HTTPHeaders.tooLong("header") }
        let expected = try contentLength(statusCode, headers)
        // Before the sink publishes the head: a caller who then asks the circuit breaker must find it closed.
        exchange.report(.head(ReceivedHead(statusCode: statusCode, headers: headers, exchange: observed)))
        // Checked before a sink publishes the head or writes to a file. A followed redirect is exempt, because only the start of its body
        // is received.
        let isFollowed = followsRedirects && (300..<400).contains(statusCode) && makeResponse(statusCode, headers).redirectURL != nil
        if !isFollowed { try checkLimit(expected, makeResponse(statusCode, headers)) }
        return CheckedHead(statusCode: statusCode, headers: headers, expected: expected, isFollowed: isFollowed)
    }

    /// Asks the sink whether it takes the body. A validator may reject the head; the error then has to contain the start of the body.
    private func begin(_ head: CheckedHead) async throws -> ResponseCollectorState.BodyUse {
        guard let sink else { return head.useInMemory }
        // The sink may wait for a disk. That time must not count as the server's silence.
        exchange.holdBack(true)
        defer { exchange.holdBack(false) }
        do {
            guard try await sink.begin(bodyless(head), judgedBy: context.validators) else { return head.useInMemory }
            try checkSize(of: sink, head)
            return .takenBySink
        } catch {
            return try Self.rejected(by: error)
        }
    }

    @inline(never)
    private func bodyless(_ head: CheckedHead) -> HTTPResponse {
        makeResponse(head.statusCode, head.headers, Data(), state.withLock { $0.connection })
    }

    /// If a download is split into parts, only the sink knows the size of the whole file.
    @inline(never)
    private func checkSize(of sink: any BodySink, _ head: CheckedHead) throws {
        try checkLimit(sink.progress?.total, makeResponse(head.statusCode, head.headers))
    }

    @inline(never)
    private static func rejected(by error: any Error) throws -> ResponseCollectorState.BodyUse {
        guard let error = error as? NessError, error.kind == .validation else { throw error }
        return .rejected(error)
    }

    /// Keeps a head. If a validator rejected it, limits the time for the body.
    @inline(never)
    private func keep(_ head: CheckedHead, _ bodyUse: ResponseCollectorState.BodyUse) {
        let now = context.call.clock.elapsed()
        state.withLock { state in
            state.statusCode = head.statusCode
            state.headers = head.headers
            state.headTime = now
            state.expected = head.expected
            state.bodyUse = bodyUse
        }
        if case .rejected(let error) = bodyUse {
            // In real time: the body may be endless, and the manager's clock may stand still.
            let stopTimer = PipelineClock.realTime.startTimer(after: ResponseCollectorState.rejectedLimit.time) { [weak self] in
                self?.exchange.stop(self?.rejection ?? error)
            }
            state.withLock { $0.stopTimer = stopTimer }
        }
        report((count: 0, expected: head.expected, isTaken: bodyUse.isTaken))
    }

    // MARK: the body

    /// The number of received bytes and their expected number. `isTaken` is true if the request's sink takes them.
    private typealias ReceivedBytes = (count: Int64, expected: Int64?, isTaken: Bool)

    /// Counts bytes, and keeps them unless the sink takes them.
    @inline(never)
    private func collect(_ data: Data) throws -> ReceivedBytes {
        let now = context.call.clock.elapsed()
        let limit = sink == nil ? maximumBytes : min(maximumBytes ?? .max, Self.untakenLimit)
        return try state.withLock { state in
            switch state.add(data, at: now, limit: limit, after: exchange.bytesBefore) {
            case nil: return (count: state.count, expected: state.expected, isTaken: state.bodyUse.isTaken)
            case .redirect: throw LongRedirect()
            // `Wire` replaces this error with `rejection`, which has the start of the body.
            case .rejected(let error): throw error
            case .limit(let limit): throw tooLong(limit, makeResponse(state.statusCode ?? 0, state.headers))
            }
        }
    }

    private func passOn(_ data: Data, _ received: ReceivedBytes) async throws {
        guard let sink else { return }
        if maximumBytes != nil { try checkLimit(sink.progress.map { $0.completed + Int64(data.count) } ?? received.count, response) }
        // The server is silent because the sink is slow. That time must not count as the server's silence.
        exchange.holdBack(true)
        defer { exchange.holdBack(false) }
        try await sink.write(data)
    }

    /// Reports received bytes. A download reports the size of its file instead.
    @inline(never)
    private func report(_ received: ReceivedBytes) {
        guard let sink = exchange.sink, sink.progress != nil else {
            return exchange.report(.received(received.count, of: received.expected))
        }
        exchange.touch()
        // Bodies of errors and redirects are not part of the file.
        if received.isTaken { sink.reportProgress { [flight = exchange.flight] in flight.report(.received($0, of: $1)) } }
    }

    // MARK: the end

    /// The error of a rejected head, with the received part of the body. `nil` if the head was not rejected.
    var rejection: NessError? {
        guard case .rejected(var error) = state.withLock({ $0.bodyUse }) else { return nil }
        error.context.response = response
        return error
    }

    /// The redirect whose body was too long to be received, with the start of its body. `nil` for any other error.
    @inline(never)
    func redirect(cutBy error: any Error) -> HTTPResponse? {
        guard error is LongRedirect, var redirect = response else { return nil }
        redirect.isCut = true
        return redirect
    }

    /// Stops the timer of a rejected head, as no more events follow.
    @inline(never)
    func stopTimer() { state.withLock { $0.stopTimer.take() }?() }

    /// Returns the response after its last event.
    @inline(never)
    func finalResponse() throws -> HTTPResponse {
        let state = state.withLock { $0 }
        guard var response = state.response(makeResponse) else {
            throw TransportError(.malformedResponse, "the server sent no response")
        }
        if let trailers = state.trailers { response.trailers = trailers }
        if let rejection { throw rejection }
        if let expected = state.expected, expected != state.count {
            throw context.error(.truncated, "received only \(state.count) of \(expected) bytes of the body", response: response)
        }
        if state.bodyUse.isTaken { sink?.didTakeBody() }
        return response
    }

    /// The length that the body must have. `nil` if the header does not determine it.
    private func contentLength(_ statusCode: Int, _ headers: HTTPHeaders) throws -> Int64? {
        let hasNoBody = request.method == .head || statusCode == 204 || statusCode == 304 || statusCode < 200
        guard !hasNoBody, case .length(let length) = try headers.bodyFraming() else { return nil }
        // The count is of decoded bytes, but Content-Length is the encoded length.
        return ContentCoding.isRemoved(from: statusCode, headers, of: request) ? nil : length
    }

    /// Rejects a body or a file that is longer than the manager allows.
    private func checkLimit(_ count: Int64?, _ response: @autoclosure () -> HTTPResponse?) throws {
        guard let count, let maximumBytes, count.saturatingAdd(Int64(exchange.bytesBefore)) > maximumBytes else { return }
        throw tooLong(maximumBytes, response())
    }

    private func tooLong(_ limit: Int, _ response: HTTPResponse?) -> NessError {
        context.error(.responseTooLarge, "the body is longer than the limit of \(limit) bytes", response: response)
    }
}
