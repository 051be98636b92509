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

    private var head = ResponseHeadParser()
    /// The inflaters of the content codings. The coding that was applied last comes first.
    private var inflaters: [BodyInflater] = []
    private var reader: HTTPBodyReader?
    /// The number of body bytes that libcurl has taken.
    private var readCount: Int64 = 0
    /// True while libcurl waits for the sequence of the request's body.
    private var isWaitingForBody = false
    /// True while libcurl holds a piece of the response back, because the mailbox is full.
    private var isReceivingPaused = false
    /// The local port of the connection. `nil` before the request is sent, and without a port.
    private var localPort: UInt16?
    private var statusCode: Int?
    private var events: [TransportEvent] = []
    /// The number of body bytes among the events.
    private var eventByteCount = 0
    private var isNoted = false
    private var sentCount: Int64 = 0
    private var sendCount = 0
    private var failure: (any Error)?
    private var refusal: Refusal?
    private var hasRestarted = false

    /// The reason why a send was prevented.
    private enum Refusal {
        /// The connection was stale. No byte was sent.
        case stale
        /// libcurl wanted to repeat the request, because the connection died.
        case resend
    }

    init(_ exchange: CurlExchange, _ easy: UnsafeMutableRawPointer, in loop: CurlLoop) {
        self.exchange = exchange
        self.easy = easy
        self.loop = loop
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
    fileprivate func received(headLine line: UnsafeBufferPointer<UInt8>) -> Bool {
        do {
            guard let head = try head.read(line) else { return true }
            statusCode = head.statusCode
            inflaters = try makeInflaters(head)
            add(.head(statusCode: head.statusCode, headers: head.headers))
            // libcurl may have given the body up, but it does not end a transfer whose body is paused.
            if isWaitingForBody { loop.waker(for: exchange)() }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Makes the inflaters of a body. None if it has no content coding, or if the caller wants the encoded body.
    private func makeInflaters(_ head: ResponseHeadParser.Head) throws -> [BodyInflater] {
        if request[KeepsContentCoding.self] { return [] }
        let field = head.headers[HeaderName.contentEncoding]?.lowercased() ?? ""
        let codings = field.split(separator: ",").map { HeaderFieldValue.trimmed(String($0)) }.filter { !$0.isEmpty && $0 != "identity" }
        if codings.isEmpty || request.method == .head || head.statusCode == 204 || head.statusCode == 304 { return [] }
        let inflaters = codings.reversed().compactMap { BodyInflater($0) }
        if inflaters.count == codings.count { return inflaters }
        // A caller that asks for other codings decodes them itself.
        if inflaters.isEmpty, request.headers.contains(HeaderName.acceptEncoding) { return [] }
        throw TransportError(.malformedResponse, "the body came in a content coding that was not asked for (\(field))")
    }

    /// Decodes a piece of the body, starting with the coding at an index, and adds the result to the events.
    private func inflate(_ bytes: UnsafeBufferPointer<UInt8>, from index: Int = 0) throws {
        guard index < inflaters.count else { return add(.body(Data(buffer: bytes))) }
        try inflaters[index].inflate(bytes) { piece in
            try piece.withUnsafeBytes { try inflate($0.bindMemory(to: UInt8.self), from: index + 1) }
        }
    }

    /// Processes a piece of the body.
    /// - Returns: The number of processed bytes, or the value that makes libcurl pause.
    fileprivate func received(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        isReceivingPaused = !exchange.mailbox.hasRoom(besides: eventByteCount)
        if isReceivingPaused { return Int(NESS_CURL_WRITE_PAUSE) }
        guard head.isComplete else {
            failure = TransportError(.malformedResponse, "a body came before the header was complete")
            return 0
        }
        do {
            try inflate(bytes)
            return bytes.count
        } catch {
            failure = error
            return 0
        }
    }

    /// Reads a piece of the request's body.
    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
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

    fileprivate func rewind(to offset: Int64) -> Bool {
        reader = nil
        return offset == 0
    }

    fileprivate func moved(sent: Int64) {
        // libcurl counts the framing of chunks, too.
        let sent = request.body?.length == nil ? min(sent, readCount) : sent
        guard sent > sentCount, request.body != nil else { return }
        sentCount = sent
        add(.sent(sent))
    }

    /// Returns false if the server has closed the connection while libcurl waits for the request's body.
    ///
    /// libcurl does not end such a transfer: it would try to send the rest of the body once there is more. After a status of 300 and above
    /// it sends no more of the body, and only the rest of the response counts.
    fileprivate func mayGoOn() -> Bool {
        guard isWaitingForBody, !isReceivingPaused, (statusCode ?? 0) < 300, let localPort, loop.connections.isClosed(localPort) else {
            return true
        }
        failure = failure ?? TransportError(.connectionLost, "the server closed the connection before it had the whole body")
        return false
    }

    /// Returns true if the request may be sent on a connection.
    fileprivate func maySend(onLocalPort port: Int32) -> Bool {
        sendCount += 1
        localPort = UInt16(exactly: port)
        if sendCount > 1 {
            refusal = .resend
            return false
        }
        if request.url.scheme == "http", let port = UInt16(exactly: port), loop.connections.isStale(port) {
            refusal = .stale
            return false
        }
        return true
    }

    fileprivate func opened(_ descriptor: Int32) { loop.connections.add(descriptor) }

    // MARK: the end

    /// Returns true if the transfer is repeated on a connection of its own: the prevented send had not begun, or the request may be sent
    /// twice.
    func restarts(after code: Int32) -> Bool {
        guard let refusal, code == CurlError.abortedByCallback, !hasRestarted, !head.isComplete else { return false }
        guard refusal == .stale || !request.needsFreshConnection else { return false }
        hasRestarted = true
        self.refusal = nil
        sendCount = 0
        reader = nil
        readCount = 0
        head = ResponseHeadParser()
        return ness_curl_set_long(easy, CurlOption.freshConnection, 1) == 0
    }

    func finish(_ code: Int32) {
        var end: Result<Void, any Error> = .success(())
        do {
            if let failure { throw failure }
            if refusal != nil { throw TransportError(.connectionLost, "the connection was lost before a response") }
            if code != 0 {
                var failure = CurlError.map(code, String(cString: errorText))
                failure.isUnsent = sendCount == 0
                throw failure
            }
            guard head.isComplete else {
                throw TransportError(.connectionLost, "the connection was closed inside the response's header")
            }
            for inflater in inflaters { try inflater.finish() }
        } catch {
            end = .failure(error)
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

/// The callbacks of libcurl.
enum CurlCallbacks {
    private static func transfer(_ user: UnsafeMutableRawPointer?) -> CurlTransfer? {
        user.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func bytes(_ start: UnsafeMutablePointer<CChar>?, _ count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: UnsafeRawPointer(start)?.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// Sets the callbacks of a transfer.
    static func set(for transfer: CurlTransfer) -> Int32 {
        _ = isListening
        var callbacks = ness_curl_callbacks(
            head: { start, size, count, user in
                CurlCallbacks.transfer(user)?.received(headLine: CurlCallbacks.bytes(start, size * count)) == true ? size * count : 0
            },
            body: { start, size, count, user in CurlCallbacks.transfer(user)?.received(CurlCallbacks.bytes(start, size * count)) ?? 0 },
            read: { start, size, count, user in
                CurlCallbacks.transfer(user)?.read(into: UnsafeMutableRawBufferPointer(start: start, count: size * count))
                    ?? Int(NESS_CURL_READ_ABORT)
            },
            seek: { user, offset, origin in origin == 0 && CurlCallbacks.transfer(user)?.rewind(to: offset) == true ? 0 : 1 },
            progress: { user, _, _, _, sent in
                CurlCallbacks.transfer(user)?.moved(sent: sent)
                return CurlCallbacks.transfer(user)?.mayGoOn() == false ? 1 : 0
            },
            prerequest: { user, _, _, _, localPort in CurlCallbacks.transfer(user)?.maySend(onLocalPort: localPort) == true ? 0 : 1 })
        return ness_curl_set_callbacks(transfer.easy, &callbacks, Unmanaged.passUnretained(transfer).toOpaque())
    }

    /// Registers the callback that reports opened sockets, at the first use.
    private static let isListening: Bool = {
        ness_curl_set_socket_opened { user, descriptor in CurlCallbacks.transfer(user)?.opened(descriptor) }
        return true
    }()
}
#endif
