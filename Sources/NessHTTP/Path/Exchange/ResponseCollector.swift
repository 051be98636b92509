import Foundation
import NessLock

/// Collects a response and checks it: the body must be as long as the header announces.
final class ResponseCollector: PartialResponse {
    /// The limits on the body that is collected for the error when a validator rejects the head. Such a body may be endless.
    private static let refusedLimit = (bytes: 64 << 10, time: Duration.seconds(1))

    /// The longest body that is collected in memory if a stream or a download does not take the response, such as an error. Such a body may
    /// be endless.
    private static let untakenLimit = 16 << 20

    /// The longest time that the body of a followed redirect may take after its head.
    private static let redirectTime = Duration.seconds(1)

    /// The error that ends the exchange of a redirect whose body is longer.
    private struct LongRedirect: Error {}

    private let request: HTTPRequest
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
        self.request = request
        self.transport = transport
        self.exchange = exchange
        self.context = context
        // The response to a request that a loader made is kept in memory.
        let isMade = context.request.id != exchange.flight.context.request.id
        sink = isMade ? nil : exchange.sink
        if case .follow = request.redirects { followsRedirects = !isMade } else { followsRedirects = false }
        self.maximumBytes = maximumBytes
        bodyLength = request.body?.length
    }

    /// The response as far as it was received. `nil` before its head.
    var response: HTTPResponse? { state.withLock { $0 }.response(makeResponse) }

    private func makeResponse(
        _ statusCode: Int, _ headers: HTTPHeaders, _ body: Data = Data(), _ connection: ConnectionMetrics? = nil
    ) -> HTTPResponse {
        var response = HTTPResponse(statusCode: statusCode, headers: headers, body: body, request: request)
        if let connection { response.connection = connection }
        if statusCode == 407 { response.proxy = transport.proxy(of: request) }
        if ContentCoding.isRemoved(from: statusCode, headers, of: request) { response.removeContentCoding() }
        return response
    }

    // Synchronous work is in functions that are not inlined. Otherwise the frame of `receiveForSink` would have room for all of it, and
    // allocating the frame would take longer than the work.
    /// Receives an event of a response whose body a sink may take.
    @inline(never)
    func receiveForSink(_ event: TransportEvent) async throws {
        switch event {
        case .head(let statusCode, let headers):
            let expected = try receiveHead(statusCode, headers)
            let (isTaken, refusal) = try await begin(statusCode, headers)
            keep(statusCode, headers, expected: expected, isTaken: isTaken, refusal)
        case .body(let data):
            let progress = try collect(data)
            // For a stream, bytes are reported before the sink takes them: the reader may end the call as soon as it has them.
            let reportsFirst = progress.isTaken && sink?.progress == nil
            if reportsFirst { report(progress) }
            if progress.isTaken { try await passOn(data, progress) }
            if !reportsFirst { report(progress) }
        case .sent, .connection, .interim, .trailers: try notify(event)
        }
    }

    /// True if a sink may have to be waited for.
    var mayWait: Bool { sink != nil }

    /// Receives an event of a response that is collected in memory: no asynchronous call is made for it.
    func receiveInMemory(_ event: TransportEvent) throws {
        switch event {
        case .head(let statusCode, let headers):
            keep(statusCode, headers, expected: try receiveHead(statusCode, headers), isTaken: false, nil)
        case .body(let data): report(try collect(data))
        case .sent, .connection, .interim, .trailers: try notify(event)
        }
    }

    @inline(never)
    private func notify(_ event: TransportEvent) throws {
        switch event {
        case .sent(let bytes):
            exchange.report(.sent(bytes, of: bodyLength))
        case .connection(let connection):
            state.withLock { $0.connection = connection }
            exchange.report(.connection(connection))
        case .interim(let statusCode, let headers):
            exchange.report(.interim(ReceivedHead(statusCode: statusCode, headers: headers, request: request)))
        case .trailers(let fields):
            guard fields.byteCount <= HTTPHeaders.maximumByteCount else { throw HTTPHeaders.tooLong("trailer") }
            state.withLock { $0.trailers = fields }
        case .head, .body: break
        }
    }

    // MARK: the head

    /// Checks a head, and notifies the listeners. Returns the length that the body must have; `nil` if the head does not determine it.
    @inline(never)
    private func receiveHead(_ statusCode: Int, _ headers: HTTPHeaders) throws -> Int64? {
        // This limit also bounds the work of all code that parses header fields.
        guard headers.byteCount <= HTTPHeaders.maximumByteCount else { throw HTTPHeaders.tooLong("header") }
        let expected = try contentLength(statusCode, headers)
        // Before the sink publishes the head: a caller who then asks the circuit breaker must find it closed.
        exchange.report(.head(ReceivedHead(statusCode: statusCode, headers: headers, request: request)))
        // Checked before a sink publishes the head or writes to a file. A followed redirect is exempt, because only the start of its body
        // is received.
        if !isFollowed(statusCode, headers) { try check(expected, makeResponse(statusCode, headers)) }
        return expected
    }

    /// True for a redirect that is followed.
    private func isFollowed(_ statusCode: Int, _ headers: HTTPHeaders) -> Bool {
        followsRedirects && (300..<400).contains(statusCode) && makeResponse(statusCode, headers).redirectURL != nil
    }

    /// Asks the sink whether it takes the body. A validator may reject the head; the error then has to contain the start of the body.
    private func begin(_ statusCode: Int, _ headers: HTTPHeaders) async throws -> (isTaken: Bool, refusal: NessError?) {
        guard let sink else { return (false, nil) }
        // The sink may wait for a disk. That time must not count as the server's silence.
        exchange.holdBack(true)
        defer { exchange.holdBack(false) }
        do {
            let response = makeResponse(statusCode, headers, Data(), state.withLock { $0.connection })
            let isTaken = try await sink.begin(response, judgedBy: context.validators)
            // If a download is split into parts, only the sink knows the size of the whole file.
            if isTaken { try check(sink.progress?.total, makeResponse(statusCode, headers)) }
            return (isTaken, nil)
        } catch let error as NessError where error.kind == .validation {
            return (false, error)
        }
    }

    /// Keeps a head. If a validator rejected it, limits the time for the body.
    @inline(never)
    private func keep(_ statusCode: Int, _ headers: HTTPHeaders, expected: Int64?, isTaken: Bool, _ refusal: NessError?) {
        let isFollowed = isFollowed(statusCode, headers), now = context.call.clock.elapsed()
        state.withLock { state in
            state.statusCode = statusCode
            state.headers = headers
            (state.isFollowed, state.headTime) = (isFollowed, now)
            state.expected = expected
            state.isTaken = isTaken
            state.refusal = refusal
        }
        if let refusal {
            let stopTimer = PipelineClock.realTime.startTimer(after: Self.refusedLimit.time) { [weak self] in
                self?.exchange.stop(self?.refusal ?? refusal)
            }
            state.withLock { $0.stopTimer = stopTimer }
        }
        report(Progress(count: 0, expected: expected, isTaken: isTaken))
    }

    // MARK: the body

    private struct Progress {
        let count: Int64
        let expected: Int64?
        /// True if the request's sink takes the body.
        let isTaken: Bool
    }

    /// Counts bytes, and keeps them unless the sink takes them.
    @inline(never)
    private func collect(_ data: Data) throws -> Progress {
        let now = context.call.clock.elapsed()
        return try state.withLock { state in
            state.count += Int64(data.count)
            let progress = Progress(count: state.count, expected: state.expected, isTaken: state.isTaken)
            if state.isTaken { return progress }
            if state.isFollowed {
                state.body.append(data.prefix(RedirectHistory.bodyLimit - state.body.count))
                if state.count > RedirectHistory.bodyLimit || now - state.headTime > Self.redirectTime { throw LongRedirect() }
            }
            if let refusal = state.refusal {
                state.body.append(data.prefix(Self.refusedLimit.bytes - state.body.count))
                if state.body.count == Self.refusedLimit.bytes { throw refusal }
                return progress
            }
            let limit = sink == nil ? maximumBytes : min(maximumBytes ?? .max, Self.untakenLimit)
            try check(state.count, makeResponse(state.statusCode ?? 0, state.headers), limit: limit)
            if state.isFollowed { return progress }
            if state.body.isEmpty { state.body = data } else { state.body.append(data) }
            return progress
        }
    }

    private func passOn(_ data: Data, _ progress: Progress) async throws {
        guard let sink else { return }
        if maximumBytes != nil { try check(sink.progress.map { $0.completed + Int64(data.count) } ?? progress.count, response) }
        // The server is silent because the sink is slow. That time must not count as the server's silence.
        exchange.holdBack(true)
        defer { exchange.holdBack(false) }
        try await sink.write(data)
    }

    /// Reports received bytes. A download reports the size of its file instead.
    @inline(never)
    private func report(_ progress: Progress) {
        guard let sink = exchange.sink, sink.progress != nil else {
            return exchange.report(.received(progress.count, of: progress.expected))
        }
        exchange.touch()
        // Bodies of errors and redirects are not part of the file.
        if progress.isTaken { sink.reportProgress { [flight = exchange.flight] in flight.report(.received($0, of: $1)) } }
    }

    // MARK: the end

    /// The error of a rejected head, with the received part of the body. `nil` if the head was not rejected.
    var refusal: NessError? {
        guard var failure = state.withLock({ $0.refusal }) else { return nil }
        failure.context.response = response
        return failure
    }

    /// The redirect whose body was too long to be received, with the start of its body. `nil` for any other error.
    @inline(never)
    func redirect(cutBy error: any Error) -> HTTPResponse? {
        guard error is LongRedirect, var redirect = response else { return nil }
        redirect.isCut = true
        return redirect
    }

    /// Stops the timer, as no more events follow.
    @inline(never)
    func stopTimers() { state.withLock { $0.stopTimer.take() }?() }

    /// Returns the response after its last event.
    @inline(never)
    func finalResponse() throws -> HTTPResponse {
        let state = state.withLock { $0 }
        guard var response = state.response(makeResponse) else {
            throw TransportError(.malformedResponse, "the server sent no response")
        }
        if let trailers = state.trailers { response.trailers = trailers }
        if let refusal { throw refusal }
        if let expected = state.expected, expected != state.count {
            throw context.error(.truncated, "received only \(state.count) of \(expected) bytes of the body", response: response)
        }
        if state.isTaken { sink?.didTakeBody() }
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
    private func check(_ count: Int64?, _ response: @autoclosure () -> HTTPResponse?) throws {
        try check(count, response(), limit: maximumBytes)
    }

    private func check(_ count: Int64?, _ response: @autoclosure () -> HTTPResponse?, limit: Int?) throws {
        guard let count, let limit, count.saturatingAdd(Int64(exchange.bytesBefore)) > limit else { return }
        throw context.error(.responseTooLarge, "the body is longer than the limit of \(limit) bytes", response: response())
    }
}

/// The part of a response that has arrived.
struct ResponseCollectorState: Sendable {
    var statusCode: Int?
    var headers = HTTPHeaders()
    var body = Data()
    /// The number of received bytes.
    var count: Int64 = 0
    var expected: Int64?
    /// True if the request's sink takes the body.
    var isTaken = false
    /// True for a redirect that is followed.
    var isFollowed = false
    /// The time of the head, on the manager's clock.
    var headTime = Duration.zero
    /// The error of a validator that rejected the head.
    var refusal: NessError?
    /// Stops the timer that ends the body of a rejected head.
    fileprivate var stopTimer: (@Sendable () -> Void)?
    var connection: ConnectionMetrics?
    var trailers: HTTPHeaders?

    /// Makes the response as far as it was received. `nil` before its head.
    fileprivate func response(_ make: (Int, HTTPHeaders, Data, ConnectionMetrics?) -> HTTPResponse) -> HTTPResponse? {
        statusCode.map { make($0, headers, body, connection) }
    }
}
