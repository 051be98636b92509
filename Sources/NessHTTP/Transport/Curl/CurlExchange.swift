#if os(Linux)
/// An exchange, which the caller's task and libcurl's thread share.
///
/// The caller's task makes it and prepares as much as possible, because the thread drives the exchanges of many callers.
final class CurlExchange: Sendable {
    /// The request; its body has been resolved.
    let request: HTTPRequest
    /// The connection to the pipeline. `nil` outside of a pipeline.
    let control: (any ExchangeControl)?
    /// The URL as libcurl takes it.
    let url: String
    /// The request target, if a libcurl would change it: 8.23 writes escapes in uppercase, 8.14 omits the `?` of an empty query. `nil` for
    /// any other target.
    let target: String?
    /// The origin of the request.
    let origin: ParsedURL.Origin
    /// True for https.
    let isSecure: Bool
    /// Identifies the options that the transfer sets, so that its handle can be reused. `nil` if it sets options that other transfers do
    /// not.
    let shape: CurlTemplate.Shape?
    /// The header fields as libcurl takes them.
    let headerLines: String
    /// The events on their way to the caller's task.
    let mailbox = EventMailbox()
    /// The transfer. `nil` before it starts and after it has ended. Only the engine's thread uses it.
    @exclusivity(unchecked) nonisolated(unsafe) var transfer: CurlTransfer?

    /// Makes an exchange.
    /// - Throws: `TransportError` of the kind `invalidRequest`.
    init(_ request: HTTPRequest, _ control: (any ExchangeControl)? = nil) throws {
        self.request = request
        self.control = control
        url = request.url.absoluteString
        let parsed = request.parsedURL
        origin = request.origin
        target = url.utf8.last == UInt8(ascii: "?") || Self.hasSmallEscape(url) ? parsed.target : nil
        isSecure = origin.scheme == "https"
        shape = Self.shape(of: request, isSecure: isSecure, target == nil && control?.streamsResponse != true)
        do {
            // The pipeline has checked this, but a transport can be used without one.
            try request.method.checkSyntax()
            headerLines = try CurlHeaderLines.make(request, expectsContinue: SendHistory.expectsContinue(request))
        } catch let error as InvalidRequest {
            throw TransportError(.invalidRequest, error.description)
        }
    }

    /// The exchanges with which this one shares engines.
    var group: CurlShares.Group { CurlShares.Group(origin: origin, isStreamed: control?.streamsResponse == true) }

    /// Returns the kind of handle that the exchange needs.
    func kind(_ settings: CurlSettings) -> CurlTemplate.Kind {
        // A stream may pause, so it does not use HTTP/2: libcurl buffers a paused stream and delays the other streams of its connection.
        if control?.streamsResponse == true { return .streamed(capacity: mailbox.capacity) }
        // Over HTTP/2 libcurl does not wait for a 100.
        return isSecure && settings.allowsHTTP2 && !SendHistory.expectsContinue(request) ? .multiplexed : .collected
    }

    /// Returns the shape of a request with a small body in memory, or of an idempotent GET without a body. `nil` for any other request.
    private static func shape(of request: HTTPRequest, isSecure: Bool, _ isPlain: Bool) -> CurlTemplate.Shape? {
        guard isPlain, request[ExpectsContinue.self] == nil, request.method != .head else { return nil }
        if let body = request.body {
            let isSmall = body.data.map { $0.count <= CurlTransfer.inMemoryLimit } ?? false
            return isSmall ? CurlTemplate.Shape(isSecure: isSecure, hasBody: true) : nil
        }
        return request.method == .get && request.isIdempotent ? CurlTemplate.Shape(isSecure: isSecure, hasBody: false) : nil
    }

    /// Returns true if an escape contains a lowercase letter, such as `%2f`.
    private static func hasSmallEscape(_ url: String) -> Bool {
        // The generic search of a string takes eight times as long.
        guard url.utf8.withContiguousStorageIfAvailable({ $0.contains(UInt8(ascii: "%")) }) != false else { return false }
        return url.split(separator: "%").dropFirst().contains { $0.prefix(2).contains(where: \.isLowercase) }
    }
}
#endif
