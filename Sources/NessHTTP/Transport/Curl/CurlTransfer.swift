#if canImport(CNessCurl)
import CNessCurl
import Foundation

/// One exchange in libcurl, with its callbacks. Only the engine's thread uses it.
final class CurlTransfer {
    let exchange: CurlExchange
    let easy: UnsafeMutableRawPointer
    unowned let loop: CurlLoop
    /// The memory that libcurl uses during the transfer.
    var headerList: UnsafeMutableRawPointer?
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: 256)

    private(set) var head = ResponseHeadParser()
    private var decoder = ContentDecoder()
    private var reader: HTTPBodyReader?
    private var events: [TransportEvent] = []
    /// The number of body bytes among the events.
    private var eventByteCount = 0
    private var isNoted = false
    private var sentCount: Int64 = 0
    private(set) var history: SendHistory
    private var isMeasured = false
    private var failure: (any Error)?

    init(_ exchange: CurlExchange, _ easy: UnsafeMutableRawPointer, in loop: CurlLoop) {
        self.exchange = exchange
        self.easy = easy
        self.loop = loop
        history = SendHistory(exchange.request)
        errorText.initialize(repeating: 0, count: 256)
    }

    deinit {
        errorText.deallocate()
        if let headerList { ness_curl_list_free(headerList) }
    }

    private var request: HTTPRequest { exchange.request }

    // MARK: events

    private func add(_ event: TransportEvent) {
        events.append(event)
        if case .body(let data) = event { eventByteCount += data.count }
        if isNoted { return }
        isNoted = true
        loop.note(self)
    }

    func handOn() {
        isNoted = false
        if events.isEmpty { return }
        exchange.mailbox.put(events)
        events = []
        eventByteCount = 0
    }

    // MARK: callbacks

    /// Processes a line of a head.
    func received(headLine line: UnsafeBufferPointer<UInt8>) -> Bool {
        do {
            guard let head = try head.read(line) else { return true }
            if head.isInterim {
                add(.interim(statusCode: head.statusCode, headers: head.headers))
                return true
            }
            if head.statusCode == 417, history.expectsContinue, sentBodyBytes == 0, reader == nil {
                history.refuseExpectation()
                return false
            }
            decoder = try ContentDecoder(head, of: request)
            reportConnection()
            add(.head(statusCode: head.statusCode, headers: head.headers))
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Processes a piece of the body.
    /// - Returns: The number of processed bytes, or the value that makes libcurl pause.
    func received(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard exchange.mailbox.hasRoom(besides: eventByteCount) else { return Int(NESS_CURL_WRITE_PAUSE) }
        guard head.isComplete else {
            failure = TransportError(.malformedResponse, "a body came before the header was complete")
            return 0
        }
        do {
            try decoder.decode(bytes) { add(.body($0)) }
            return bytes.count
        } catch {
            failure = error
            return 0
        }
    }

    /// Reads a piece of the request's body.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        do {
            let reader = reader ?? request.body?.makeReader()
            self.reader = reader
            let piece = try reader?.read(upTo: buffer.count) ?? Data()
            return piece.copyBytes(to: buffer)
        } catch {
            failure = error
            return Int(NESS_CURL_READ_ABORT)
        }
    }

    func rewind(to offset: Int64) -> Bool {
        reader = nil
        return offset == 0
    }

    func moved(sent: Int64) {
        guard sent > sentCount, request.body != nil else { return }
        sentCount = sent
        add(.sent(sent))
    }

    /// Returns true if the request may be sent on a connection.
    func maySend(onLocalPort port: Int32) -> Bool {
        history.maySend {
            guard request.url.scheme == "http", let port = UInt16(exactly: port) else { return false }
            return loop.connections.isStale(port)
        }
    }

    /// Reports the measurements of the connection, once.
    private func reportConnection() {
        guard !isMeasured, let metrics = measure() else { return }
        isMeasured = true
        add(.connection(metrics))
    }

    func opened(_ descriptor: Int32) { loop.connections.add(descriptor) }

    // MARK: the end

    /// Returns true if the transfer is repeated on a connection of its own.
    func restarts() -> Bool {
        guard failure == nil, history.restarts(hasHead: head.isComplete) else { return false }
        reader = nil
        head = ResponseHeadParser()
        guard (try? setHeaders()) != nil else { return false }
        return ness_curl_set_long(easy, CurlOption.freshConnection, 1) == 0
    }

    /// Makes the error of a transfer that libcurl ended.
    private func error(_ code: Int32) -> TransportError {
        guard history.wasRefused else {
            return CurlError.map(code, String(cString: errorText), isSent: history.isSent, wasSentBefore: history.wasSentBefore)
        }
        var error = TransportError(.connectionLost, "the connection was lost before a response")
        if head.isComplete { error = TransportError(.truncated, "the server refused the request while the body was being sent") }
        error.isFinal = head.isComplete
        error.isUnsent = history.isUnsent
        return error
    }

    func finish(_ code: Int32) {
        var end: Result<Void, any Error> = .success(())
        do {
            if let failure { throw failure }
            if history.wasRefused || code != 0 { throw error(code) }
            guard head.isComplete else {
                throw TransportError(.connectionLost, "the connection was closed inside the response's header")
            }
            try decoder.finish()
        } catch {
            end = .failure(error)
            reportConnection()
        }
        exchange.mailbox.put(events, end: end)
        events = []
    }

    /// Releases the transfer's resources. No callback of libcurl runs afterwards.
    func release() {
        events = []
        reader = nil
    }
}
#endif
