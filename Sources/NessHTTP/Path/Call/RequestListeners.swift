import Dispatch

/// The closures of a caller that receive events of a request while it runs.
struct RequestListeners: Sendable {
    /// The closures that take the progress.
    var progress: [@Sendable (TransferProgress) -> Void] = []
    /// The closures that take the head of each response, on a queue or immediately. An error that one of them throws ends the request.
    var head: [(queue: DispatchQueue?, listener: @Sendable (HTTPResponse) throws -> Void)] = []
    /// The closures that take interim responses.
    var interim: [@Sendable (HTTPResponse) -> Void] = []

    /// True if any closure takes heads, final or interim.
    var hearsHeads: Bool { !head.isEmpty || !interim.isEmpty }
}
