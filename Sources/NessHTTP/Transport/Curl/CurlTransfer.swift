#if os(Linux)
import CNessCurl
import Foundation

/// One exchange in libcurl, with its callbacks. Only the engine's thread uses it.
///
/// `@exclusivity(unchecked)` exempts the properties that each GET uses from Swift's exclusivity check, which takes 2 % of its instructions.
final class CurlTransfer {
    let exchange: CurlExchange
    let handle: CurlHandle
    let template: CurlTemplate
    unowned let loop: CurlLoop
    /// Its index in the loop's transfers; `nil` before the start and after the end.
    @exclusivity(unchecked) var place: Int?
    /// True while libcurl has the handle.
    var isAttached = false
    /// True once the transfer has given up its handle.
    var isReleased = false

    @exclusivity(unchecked) var head = ResponseHeadParser()
    /// Removes the content coding of the body. `nil` for a body that is handed on unchanged.
    var decoder: ContentDecoder?
    var reader: HTTPBodyReader?
    /// The length of the request's body. `nil` without a body, or if the length is unknown.
    private let bodyLength: Int64?
    /// The number of body bytes that libcurl has taken.
    var readCount: Int64 = 0
    /// True while libcurl waits for the request's body, whose sequence has no bytes ready.
    var isWaitingForBody = false
    /// True if the transfer waits for a connection that is being opened, because it might speak HTTP/2.
    var waitsForHTTP2 = false
    /// True if a connection that was opened for this transfer speaks HTTP/2.
    private var speaksHTTP2 = false
    /// True while libcurl holds a piece of the response back, because the mailbox is full.
    private var isReceivingPaused = false {
        didSet {
            // libcurl 8.5.0 would continue to read into its own buffer. A connection of HTTP/2 is not muted, because it carries other
            // exchanges.
            guard isReceivingPaused != oldValue, head.isHTTP1, let descriptor = ends.flatMap(loop.connections.descriptor) else { return }
            loop.mute(descriptor, isReceivingPaused)
        }
    }
    /// True while libcurl delivers the bytes that it held back. The mailbox takes them all, even if it is full: libcurl 8.13 to 8.16 loses
    /// the rest if it is paused again.
    private var isContinuing = false
    private var statusCode: Int?
    /// The events of this turn of the loop.
    @exclusivity(unchecked) var batch = EventBatch()
    /// True if the loop calls `handOn()` at the end of this turn.
    private var isHandOnScheduled = false
    /// The outcome, once libcurl has ended the transfer.
    @exclusivity(unchecked) var outcome: Result<Void, any Error>?
    /// The number of body bytes that were reported as sent.
    private var sentCount: Int64 = 0
    @exclusivity(unchecked) var history: SendHistory
    private var isMeasured = false
    /// The error that a callback found. It takes precedence over libcurl's error.
    var failure: (any Error)?
    /// True if a connection was opened for this transfer.
    private var hasOpened = false
    /// The ends of the connection that carries the request. `nil` before the request is sent.
    @exclusivity(unchecked) var ends: CurlConnections.Ends?
    /// The number of that connection. `nil` before the request is sent, and for a connection without a number.
    @exclusivity(unchecked) private(set) var connection: CurlConnectionUse<CurlTransfer>.Connection?
    /// The time at which the request was sent over HTTP/2, and the connection's `arrivalCount` then.
    @exclusivity(unchecked) private var silence: (start: ContinuousClock.Instant, arrivalCount: Int)?
    /// The names that libcurl needs and may not look up itself.
    var names = CurlNames()
    /// The check of the addresses that the transfer may connect to. `nil` for a transport that allows all.
    var addressCheck: AddressCheck?

    init(_ exchange: CurlExchange, _ handle: CurlHandle, of template: CurlTemplate, in loop: CurlLoop) {
        self.exchange = exchange
        self.handle = handle
        self.template = template
        self.loop = loop
        history = SendHistory(exchange.request)
        bodyLength = exchange.request.body?.length
    }

    /// libcurl's handle.
    var easy: UnsafeMutableRawPointer { handle.pointer }

    var request: HTTPRequest { exchange.request }

    // MARK: events

    private func add(_ event: TransportEvent) {
        batch.add(event)
        scheduleHandOn()
    }

    private func add(body bytes: UnsafeBufferPointer<UInt8>) {
        batch.add(body: bytes)
        scheduleHandOn()
    }

    private func scheduleHandOn() {
        if isHandOnScheduled { return }
        isHandOnScheduled = true
        loop.scheduleHandOn(of: self)
    }

    /// Passes the events of this turn to the mailbox.
    func handOn() {
        isHandOnScheduled = false
        // Without events, lines of an incomplete header or of a trailer have arrived.
        if batch.isEmpty {
            if outcome == nil { exchange.control?.bytesDidMove() }
            return
        }
        exchange.mailbox.put(batch)
        batch = EventBatch()
    }

    // MARK: callbacks

    /// Processes a line of a head.
    func received(headLine line: UnsafeBufferPointer<UInt8>) -> Bool {
        noteArrival()
        do {
            guard let head = try head.read(line) else {
                scheduleHandOn()
                return true
            }
            if head.isInterim {
                add(.interim(statusCode: head.statusCode, headers: head.headers))
                return true
            }
            if head.statusCode == 417, history.expectsContinue, sentBodyBytes == 0, reader == nil {
                history.refuseExpectation()
                return false
            }
            statusCode = head.statusCode
            if !self.head.isHTTP1, let connection { loop.use.noteHTTP2(on: connection) }
            decoder = try ContentDecoder.make(for: head, of: request)
            reportConnection()
            add(.head(statusCode: head.statusCode, headers: head.headers))
            // libcurl may have stopped sending the body, but it does not end a transfer whose body is paused.
            if isWaitingForBody { loop.waker(for: exchange)() }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Decodes as much of the body as the mailbox has room for.
    /// - Returns: False if the body cannot be decoded.
    private func decode() -> Bool {
        guard let decoder else { return true }
        do {
            while decoder.hasRest, case let room = exchange.mailbox.room(besides: batch.byteCount), room > 0 {
                try decoder.decode(upTo: room) { add(body: $0) }
            }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Processes a piece of the body.
    /// - Returns: The number of processed bytes, or the value that makes libcurl pause.
    func received(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        noteArrival()
        guard head.isComplete else {
            failure = TransportError(.malformedResponse, "a body arrived before the header was complete")
            return 0
        }
        if let decoder {
            // The mailbox is full. libcurl delivers this piece again after `resume()`.
            isReceivingPaused = !isContinuing && decoder.hasRest
            if isReceivingPaused { return Int(NESS_CURL_WRITE_PAUSE) }
            decoder.add(bytes)
            return decode() ? bytes.count : 0
        }
        isReceivingPaused = !isContinuing && exchange.mailbox.room(besides: batch.byteCount) == 0
        if isReceivingPaused { return Int(NESS_CURL_WRITE_PAUSE) }
        add(body: bytes)
        return bytes.count
    }

    /// Continues after the mailbox was full, or when the request's body has its next piece.
    func resume() {
        if decode(), outcome == nil {
            // The call may be about the request's body while the mailbox is still full. Receiving then stays paused, and another call
            // follows.
            isReceivingPaused = decoder?.hasRest == true || exchange.mailbox.room(besides: batch.byteCount) == 0
            isContinuing = true
            // libcurl returns the failure of a callback that it called meanwhile, but does not end the transfer because of it. 43,
            // CURLE_BAD_FUNCTION_ARGUMENT, only means that the transfer is between two connections.
            let code = isAttached ? ness_curl_easy_continue(easy, isReceivingPaused) : 0
            isContinuing = false
            if code != 0, code != 43 { failure = failure ?? error(code) }
        }
        if let failure { outcome = .failure(failure) }
    }

    /// Reads a piece of the request's body.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        do {
            let reader = reader ?? request.body?.makeReader()
            self.reader = reader
            isWaitingForBody = false
            switch try reader?.step(upTo: buffer.count) ?? .end {
            case .bytes(let piece):
                let count = piece.copyBytes(to: buffer)
                readCount += Int64(count)
                return count
            case .end: return 0
            case .pending(let producer):
                isWaitingForBody = true
                producer.whenReady(loop.waker(for: exchange))
                return Int(NESS_CURL_READ_PAUSE)
            }
        } catch {
            failure = TransportError.whileSending(error)
            return Int(NESS_CURL_READ_ABORT)
        }
    }

    /// Starts the request's body over, because libcurl sends it again. Returns false for any other position.
    func rewind(to offset: Int64) -> Bool {
        (reader, isWaitingForBody) = (nil, false)
        return offset == 0
    }

    /// Reports the number of body bytes that were sent.
    func moved(sent: Int64) {
        // libcurl also counts the framing of chunks.
        let sent = bodyLength == nil ? min(sent, readCount) : sent
        guard sent > sentCount, request.body != nil else { return }
        sentCount = sent
        add(.sent(sent))
    }

    /// Returns false if the server has closed the connection while libcurl waits for the request's body.
    ///
    /// libcurl does not end such a transfer. It would notice the close only when it sends more of the body. After a status of 300 and above
    /// it sends no more of the body, and only the rest of the response counts.
    func mayContinue() -> Bool {
        guard isWaitingForBody, !isReceivingPaused, (statusCode ?? 0) < 300,
            let descriptor = ends.flatMap(loop.connections.descriptor), loop.connections.isClosed(descriptor)
        else {
            return true
        }
        failure = failure ?? TransportError(.connectionLost, "the server closed the connection before it had the whole body")
        return false
    }

    /// Returns true if the request may be sent on a connection.
    func maySend(on ends: CurlConnections.Ends?) -> Bool {
        leaveConnection()
        let descriptor = ends.flatMap(loop.connections.descriptor)
        (self.ends, connection) = (ends, connectionNumber ?? descriptor.map { Int64($0) })
        if speaksHTTP2, let connection { loop.use.noteHTTP2(on: connection) }
        if waitsForHTTP2, hasOpened { loop.noteOrigin(exchange.origin, speaksHTTP2: speaksHTTP2) }
        waitsForHTTP2 = false
        let maySend = history.takeSend {
            connection.map { loop.join(self, on: $0) } ?? true
        } unless: {
            guard let descriptor else { return false }
            return exchange.isSecure ? !hasOpened && loop.connections.isStaleOverTLS(descriptor) : loop.connections.isStale(descriptor)
        }
        if maySend, exchange.control?.didConnect() == false {
            history.takeBack()
            return false
        }
        silence = connection.flatMap { loop.use.arrivalCount(on: $0) }.map { (.now, $0) }
        // libcurl may still choose another connection.
        (hasOpened, speaksHTTP2) = (false, false)
        return maySend
    }

    /// Leaves the connection that carries the request.
    func leaveConnection() {
        isReceivingPaused = false
        if let connection { loop.use.leave(self, from: connection) }
        (ends, connection) = (nil, nil)
    }

    /// True while libcurl has the transfer on a connection.
    var isOnConnection: Bool { isWaitingForBody || isReceivingPaused || ness_curl_is_connected(easy) }

    private func noteArrival() {
        if silence != nil, let connection { loop.use.bytesArrived(on: connection) }
    }

    /// Returns true if a connection of HTTP/2 seems to be dead: no byte has arrived on it since this request was sent.
    /// - Parameter hasTimedOut: True if the request has waited for its whole timeout. Otherwise the connection counts as dead after five
    ///   seconds, unless bytes of the body were sent.
    func isConnectionSilent(hasTimedOut: Bool) -> Bool {
        guard let silence, let connection, loop.use.arrivalCount(on: connection) == silence.arrivalCount else { return false }
        return hasTimedOut || (sentCount == 0 && .now - silence.start > .seconds(5))
    }

    /// True if the transfer waits for a connection of HTTP/2 that another transfer opens.
    var waitsForOtherTransfer: Bool { waitsForHTTP2 && !hasOpened && !names.isNeeded && names.lookUp == nil }

    /// Ends the wait for a connection of HTTP/2. Call this while libcurl does not have the handle.
    func stopWaiting() throws {
        waitsForHTTP2 = false
        try handle.set(.waitsForMultiplexing, 0)
    }

    /// Processes an event that libcurl reports only in its log.
    func received(logNote note: Int) {
        switch note {
        case Int(NESS_CURL_NOTE_HTTP2): speaksHTTP2 = true
        case Int(NESS_CURL_NOTE_UNPROCESSED): if !head.hasBegun { history.noteUnprocessed() }
        case Int(NESS_CURL_NOTE_SENT) where !history.isSent:
            // This libcurl does not call `maySend(on:)`.
            ends = currentEnds
            _ = history.takeSend(unless: { false })
        default: break
        }
    }

    /// Reports the measurements of the connection, once.
    func reportConnection() {
        guard !isMeasured, let metrics = measure() else { return }
        isMeasured = true
        add(.connection(metrics))
    }

    /// Returns true if libcurl may connect to an address.
    /// - Parameter bytes: The bytes of an IP address; none for any other address.
    func mayConnect(to bytes: UnsafeBufferPointer<UInt8>) -> Bool { addressCheck?.allows(IPAddress(bytes)) ?? true }

    /// Returns true if libcurl may use a socket that was opened for the transfer. False after the request was sent, because another
    /// connection would send it again.
    func mayOpen(_ descriptor: Int32) -> Bool {
        guard history.takeMove() else { return false }
        hasOpened = true
        speaksHTTP2 = false
        // An earlier socket may have had this number, and may have been muted.
        loop.mute(descriptor, false)
        loop.connections.add(descriptor)
        return true
    }
}

extension CurlTransfer: Equatable {
    static func == (left: CurlTransfer, right: CurlTransfer) -> Bool { left === right }
}
#endif
