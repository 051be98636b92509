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
    /// Removes the content coding of the body. `nil` for a body that is handed on as it comes.
    private var decoder: BodyDecoder?
    private var reader: HTTPBodyReader?
    /// The events of this turn of the loop.
    private var batch = EventBatch()
    private var isNoted = false
    /// The outcome, once libcurl has ended the transfer.
    private var outcome: Result<Void, any Error>?
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
        batch.add(event)
        note()
    }

    private func add(body bytes: UnsafeBufferPointer<UInt8>) {
        batch.add(body: bytes)
        note()
    }

    private func note() {
        if isNoted { return }
        isNoted = true
        loop.note(self)
    }

    func handOn() {
        isNoted = false
        if batch.isEmpty { return }
        exchange.mailbox.put(batch)
        batch = EventBatch()
    }

    // MARK: callbacks

    /// Processes a line of a head.
    fileprivate func received(headLine line: UnsafeBufferPointer<UInt8>) -> Bool {
        do {
            guard let head = try head.read(line) else { return true }
            decoder = try makeDecoder(head)
            add(.head(statusCode: head.statusCode, headers: head.headers))
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Makes the decoder of a body. `nil` if the body has no content coding, or if the caller wants the encoded body.
    private func makeDecoder(_ head: ResponseHeadParser.Head) throws -> BodyDecoder? {
        if request[KeepsContentCoding.self] { return nil }
        let field = head.headers[HeaderName.contentEncoding]?.lowercased() ?? ""
        let codings = field.split(separator: ",").map { HeaderFieldValue.trimmed(String($0)) }.filter { !$0.isEmpty && $0 != "identity" }
        if codings.isEmpty || request.method == .head || head.statusCode == 204 || head.statusCode == 304 { return nil }
        if let decoder = BodyDecoder(codings) { return decoder }
        // A caller that asks for other codings decodes them itself.
        if !codings.contains(where: BodyInflater.knows), request.headers.contains(HeaderName.acceptEncoding) { return nil }
        throw TransportError(.malformedResponse, "the body came in a content coding that was not asked for (\(field.prefix(80)))")
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
    fileprivate func received(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard head.isComplete else {
            failure = TransportError(.malformedResponse, "a body came before the header was complete")
            return 0
        }
        if let decoder {
            // The mailbox is full. libcurl delivers this piece again after `resume()`.
            if decoder.hasRest { return Int(NESS_CURL_WRITE_PAUSE) }
            decoder.add(bytes)
            return decode() ? bytes.count : 0
        }
        guard exchange.mailbox.room(besides: batch.byteCount) > 0 else { return Int(NESS_CURL_WRITE_PAUSE) }
        add(body: bytes)
        return bytes.count
    }

    /// Continues after the mailbox was full.
    func resume() {
        guard decode() else {
            outcome = .failure(failure ?? CancellationError())
            return
        }
        // Otherwise the mailbox is full again, and another call follows.
        if outcome == nil, decoder?.hasRest != true { ness_curl_easy_continue(easy) }
    }

    /// Reads a piece of the request's body.
    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
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

    fileprivate func rewind(to offset: Int64) -> Bool {
        reader = nil
        return offset == 0
    }

    fileprivate func moved(sent: Int64) {
        guard sent > sentCount, request.body != nil else { return }
        sentCount = sent
        add(.sent(sent))
    }

    /// Returns true if the request may be sent on a connection.
    fileprivate func maySend(onLocalPort port: Int32) -> Bool {
        sendCount += 1
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
        head = ResponseHeadParser()
        return ness_curl_set_long(easy, CurlOption.freshConnection, 1) == 0
    }

    /// Sets the outcome. libcurl has ended the transfer; the decoder may still hold bytes of the body.
    func end(_ code: Int32) {
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
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
    }

    /// True if the transfer has ended and the mailbox has had room for all of its events.
    var isDelivered: Bool { outcome != nil && (failure != nil || decoder?.hasRest != true) }

    /// Ends the exchange.
    func finish() {
        do {
            if case .success? = outcome { try decoder?.finish() }
        } catch {
            outcome = .failure(error)
        }
        exchange.mailbox.put(batch, end: outcome)
        batch = EventBatch()
    }

    /// Releases the request's body. No callback of libcurl runs afterwards.
    func release() { reader = nil }
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
                return 0
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
