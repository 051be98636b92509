/// The pipeline's hold on one exchange, which a request carries to the library's own transports.
///
/// A transport of an application ignores it. The pipeline then sends the request in a task of its own, which it can abandon.
package protocol ExchangeControl: AnyObject, Sendable {
    /// Begins the use of a connection of the host's limit. A transport whose connections can outlive `send` calls it.
    /// - Returns: False if the request was abandoned. It must not be sent.
    func enterSlot() -> Bool

    /// Ends the use of a connection: it is closed or idle.
    func leaveSlot()

    /// Notes that bytes have moved of which no event tells yet, such as lines of an incomplete header.
    func bytesDidMove()

    /// Sets the closure that ends the exchange with an error, at once. It runs on any thread, and during this call if the exchange was
    /// stopped before. If there is a closure already, that one stays: it belongs to code further out, which cancels the task of this one.
    func onStop(_ end: @escaping @Sendable (any Error) -> Void)
}

/// A transport whose `send` ends at once when `ExchangeControl` stops the exchange. If `receive` runs just then, `send` ends after it.
package protocol StoppableTransport: Sendable {}
