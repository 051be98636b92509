#if canImport(CNessCurl)
/// One exchange, as the caller's task and libcurl's thread share it.
final class CurlExchange: Sendable {
    /// The request; its body has been resolved.
    let request: HTTPRequest
    /// The events on their way to the caller's task.
    let mailbox = EventMailbox()

    init(_ request: HTTPRequest) { self.request = request }
}
#endif
