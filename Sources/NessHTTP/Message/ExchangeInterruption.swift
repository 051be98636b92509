/// Ends an exchange on behalf of the code that takes its body. That code finds it beneath the `NessError` that reaches it.
package protocol ExchangeInterruption: Error {}

/// Bytes arrived faster than they were processed, over a transport that cannot hold the server back. The processed bytes count.
package struct ReceiverFellBehind: ExchangeInterruption, CustomStringConvertible {
    /// The reason.
    package let description: String

    /// Makes the error.
    /// - Parameter limit: The number of unprocessed bytes that the transport keeps.
    package init(limit: Int64) { description = "the body came faster than it was processed, and more than \(limit >> 20) MiB waited" }
}
