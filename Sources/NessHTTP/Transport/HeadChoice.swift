/// Chooses the response's head among those that URLSession reports.
///
/// On Linux the first request of a connection through a proxy has two: the proxy's answer to `CONNECT`, then the server's. The last one before
/// the body is the response's. A redirect is reported apart, and may not be reported again as a response.
struct HeadChoice: Sendable {
    typealias Head = (statusCode: Int, headers: HTTPHeaders)

    private var expectsTunnel: Bool
    /// A head that is the response's unless another one follows.
    private var held: Head?
    private var redirect: Head?
    private var isMade = false

    /// Begins with no head.
    /// - Parameter expectsTunnel: True if the first head may be a proxy's answer to `CONNECT`.
    init(expectsTunnel: Bool) { self.expectsTunnel = expectsTunnel }

    /// True if the response's head is known, apart from one that a proxy may have sent.
    var hasResponse: Bool { isMade || redirect != nil }

    /// Takes a head. Returns the response's, once, where no other can follow.
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

    /// Takes the head of a redirect.
    mutating func offerRedirect(_ head: Head) { redirect = head }

    /// Makes the choice, because the body follows, or the end. Returns the response's head, once.
    mutating func settle() -> Head? {
        guard !isMade, let head = redirect ?? held else { return nil }
        isMade = true
        return head
    }
}
