/// Chooses the head of the response among the heads that URLSession reports.
///
/// On Linux the first request on a connection through a proxy has two heads: the proxy's response to `CONNECT`, then the server's. The last
/// head before the body is that of the response. URLSession reports a redirect separately, and may not report it again as a response.
struct HeadChoice: Sendable {
    typealias Head = (statusCode: Int, headers: HTTPHeaders)

    /// The most interim responses of an exchange. Each restarts the idle timeout, so an endless number would hold a request forever.
    static let maximumInterimCount = 1_000
    /// The error of an exchange with more interim responses.
    static let tooManyInterim = TransportError(.malformedResponse, "received more than \(maximumInterimCount) interim responses")

    private var expectsTunnel: Bool
    /// The head of the response, unless another head follows.
    private var held: Head?
    private var redirect: Head?
    private var isMade = false

    /// Begins with no head.
    /// - Parameter expectsTunnel: True if the first head may be a proxy's response to `CONNECT`.
    init(expectsTunnel: Bool) { self.expectsTunnel = expectsTunnel }

    /// True if the head of the response is known. A held head does not count, because a proxy may have sent it.
    var hasResponse: Bool { isMade || redirect != nil }

    /// Adds a head. Returns the head of the response, once, if no other head can follow.
    mutating func offer(_ head: Head) -> Head? {
        if isMade { return nil }
        if expectsTunnel {
            expectsTunnel = false
            held = head
            return nil
        }
        isMade = true
        return head
    }

    /// Sets the head of a redirect.
    mutating func offerRedirect(_ head: Head) { redirect = head }

    /// Makes the choice, because the body or the end follows. Returns the head of the response, once.
    mutating func settle() -> Head? {
        guard !isMade, let head = redirect ?? held else { return nil }
        isMade = true
        return head
    }
}
