import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange over URLSession: settles once, from its own state, and ignores whatever URLSession still says after that.
final class URLSessionExchange: Sendable {
    private struct State: Sendable {
        var continuation: UnsafeContinuation<Void, any Error>?
        var hasEnded = false
        /// What ends the task, once there is one.
        var stop: (@Sendable () -> Void)?
        /// The head, once it is known not to be interim.
        var hasHead = false
        /// A redirect, which URLSession on Linux may not report as a response.
        var redirect: (statusCode: Int, headers: HTTPHeaders)?
    }

    /// Whether a compressed body may come: only a request that asks for one can have a cut one taken for whole.
    private let takesCompressed: Bool
    private let isHead: Bool
    /// The delivery of a body that is taken as it arrives; nil for one that is only collected.
    private let delivery: BodyDelivery?
    /// A body that is read while it is sent.
    private let streamed: HTTPBody?
    private let receive: @Sendable (TransportEvent) throws -> Void
    /// Where this is told what URLSession says.
    let callbacks: CallbackQueue
    private let state = Lock(State())
    /// Held while a redirect is answered, and while the task is cancelled: on Linux one beside the other crashes.
    private let answering = Lock(())

    init(
        _ request: HTTPRequest, streaming streamed: HTTPBody?, on queue: DispatchQueue,
        receive: @escaping @Sendable (TransportEvent) throws -> Void
    ) {
        callbacks = CallbackQueue(on: queue)
        isHead = request.method == .head
        delivery = request[BodyDelivery.self]
        self.streamed = streamed
        #if canImport(FoundationNetworking)
        takesCompressed = request.method == .head || request.headers.contains(HeaderName.acceptEncoding)
        #else
        takesCompressed = true
        #endif
        self.receive = receive
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    // MARK: beginning and ending

    /// Takes who waits. Returns false if the exchange was cancelled before; then the one who waits has been told.
    func begin(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
        let isOpen = state.withLock { state in
            if !state.hasEnded { state.continuation = continuation }
            return !state.hasEnded
        }
        if !isOpen { continuation.resume(throwing: CancellationError()) }
        return isOpen
    }

    /// Cancelling blocks its caller, so no caller of ours does it. Not where the callbacks run either: it waits for the thread that adds
    /// them. A serial queue, because those have threads of their own: a concurrent one would block those that run Swift's tasks.
    static let cancelQueue = DispatchQueue(label: "ness.urlsession.cancel")

    var isStreamed: Bool { streamed != nil }

    /// The body from its start.
    func makeBodyStream() -> InputStream? {
        guard let reader = streamed?.makeReader() else { return nil }
        #if canImport(FoundationNetworking)
        return BodyInputStream(reader) { [weak self] error in self?.end(.failure(error)) }
        #else
        return BoundBodyStream.make(reader) { [weak self] error in self?.end(.failure(error)) }
        #endif
    }

    /// The task exists.
    func started(_ task: URLSessionTask) {
        // Without a sink what comes is only collected: to keep it waiting would save nothing.
        if delivery != nil { callbacks.onOverflow { [weak self] in self?.overflow() ?? false } }
        let stop: @Sendable () -> Void = { [answering] in
            Self.cancelQueue.async { answering.withLock { _ in task.cancel() } }
        }
        let isLate = state.withLock { state in
            state.stop = stop
            return state.hasEnded
        }
        if isLate { stop() }
    }

    /// Ends the exchange. Only the first call counts.
    func end(_ result: Result<Void, any Error>) {
        let (continuation, stop): (UnsafeContinuation<Void, any Error>?, (@Sendable () -> Void)?) = state.withLock { state in
            guard !state.hasEnded else { return (nil, nil) }
            state.hasEnded = true
            let taken = (state.continuation, state.stop)
            state.continuation = nil
            state.stop = nil
            return taken
        }
        callbacks.close()
        if case .failure = result { stop?() }
        continuation?.resume(with: result)
    }

    private func report(_ event: TransportEvent) {
        do {
            try receive(event)
        } catch {
            end(.failure(error))
        }
    }

    // MARK: what URLSession says, by way of the callbacks

    func sent(_ total: Int64) {
        if !hasEnded { report(.sent(total)) }
    }

    func received(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        // On Linux interim responses come here too.
        if response.statusCode == 101 {
            return end(.failure(TransportError(.malformedResponse, "the server switched protocols unasked")))
        }
        guard response.statusCode >= 200 else { return }
        let headers = ResponseHeaders.make(response)
        let coding = headers[HeaderName.contentEncoding]?.lowercased() ?? "identity"
        if !takesCompressed && coding != "identity" && response.statusCode != 304 && response.statusCode != 204 {
            let reason = "the body came compressed (\(coding)) unasked, and URLSession on Linux can't tell whether it is whole"
            return end(.failure(TransportError(.malformedResponse, reason)))
        }
        head(response.statusCode, headers)
    }

    private func head(_ statusCode: Int, _ headers: HTTPHeaders) {
        let isFirst = state.withLock { state in
            let isFirst = !state.hasEnded && !state.hasHead
            state.hasHead = true
            return isFirst
        }
        if isFirst { report(.head(statusCode: statusCode, headers: headers)) }
    }

    func received(_ data: Data) {
        guard !hasEnded else { return }
        reportRedirect()
        report(.body(data))
    }

    /// Gives the exchange up, if it may be: what waits is taken, then it ends.
    private func overflow() -> Bool {
        guard delivery?.canAbandon() == true else { return false }
        let stop = state.withLock { state in
            defer { state.stop = nil }
            return state.stop
        }
        stop?()
        // Held until then: whoever waits must hear of it.
        callbacks.close { [self] in end(.failure(ReceiverFellBehind())) }
        return true
    }

    func redirected(_ response: HTTPURLResponse) {
        let redirect = (response.statusCode, ResponseHeaders.make(response))
        state.withLock { $0.redirect = redirect }
    }

    /// Answers a redirect with "no". On Linux a task that was cancelled must not be answered at all.
    func answerRedirect(_ answer: (URLRequest?) -> Void) {
        answering.withLock { _ in
            #if canImport(FoundationNetworking)
            if hasEnded { return }
            #endif
            answer(nil)
        }
    }

    private func reportRedirect() {
        let (redirect, hasHead) = state.withLock { ($0.redirect, $0.hasHead) }
        if let redirect, !hasHead { head(redirect.statusCode, redirect.headers) }
    }

    /// On Linux a redirect without a Location is never reported and its body is lost. Where there was no body the response is whole;
    /// where there was one its length tells that it is missing.
    private func reportUnreported(_ response: URLResponse?) {
        guard !state.withLock({ $0.hasHead }), let response = response as? HTTPURLResponse, response.statusCode >= 300 else { return }
        let headers = ResponseHeaders.make(response)
        if isHead || (headers.contains(HeaderName.contentLength) && !headers.contains(HeaderName.transferEncoding)) {
            head(response.statusCode, headers)
        }
    }

    /// A challenge that nobody can answer: the response stands.
    func challenged(_ response: URLResponse?) {
        if let response { received(response) }
        end(.success(()))
    }

    func completed(_ error: (any Error)?, _ response: URLResponse?) {
        guard !hasEnded else { return }
        if let error { return end(.failure(URLSessionError.map(error))) }
        reportRedirect()
        reportUnreported(response)
        guard state.withLock({ $0.hasHead }) else {
            return end(.failure(TransportError(.malformedResponse, "the transfer ended without a response")))
        }
        end(.success(()))
    }
}

/// Reads URLSession's header dictionary.
package enum ResponseHeaders {
    /// The fields in the order of their names: URLSession knows neither the order on the wire nor the names' case. Names that differ only
    /// in case, which URLSession on Linux keeps apart, become one; several `Set-Cookie` are taken apart again.
    static func make(_ response: HTTPURLResponse) -> HTTPHeaders {
        var headers = HTTPHeaders()
        let fields = response.allHeaderFields.compactMap { key, value in (key as? String).map { ($0, value as? String ?? "\(value)") } }
        for (name, value) in fields.sorted(by: { $0.0 < $1.0 }) {
            if name.equalsIgnoringCase(HeaderName.setCookie) {
                for cookie in splitCookies(value) { headers.add(cookie, for: name) }
            } else {
                headers.add(value, for: headers.first { $0.name.equalsIgnoringCase(name) }?.name ?? name)
            }
        }
        return headers
    }

    /// Cuts where a comma and a space, with which URLSession joins lines, stand outside of quotes before a name and `=`. A comma in a date or a
    /// value stays. No valid value has a comma and a space (RFC 6265bis, 4.1.1); one that has, and a name and `=` behind them, is cut.
    package static func splitCookies(_ joined: String) -> [String] {
        var cookies: [String] = []
        var isQuoted = false
        for piece in joined.split(separator: ", ", omittingEmptySubsequences: false) {
            let name = piece.prefix { $0 != "=" && $0 != ";" }
            let startsCookie =
                name.count < piece.count && piece[name.endIndex] == "=" && !name.isEmpty && !name.contains { " ,\"".contains($0) }
            if cookies.isEmpty || (startsCookie && !isQuoted) {
                cookies.append(String(piece))
                isQuoted = false
            } else {
                cookies[cookies.count - 1] += ", " + piece
            }
            if !piece.count(where: { $0 == "\"" }).isMultiple(of: 2) { isQuoted.toggle() }
        }
        return cookies
    }
}
