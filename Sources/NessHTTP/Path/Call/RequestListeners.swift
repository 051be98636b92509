import Dispatch

/// The closures of a caller that hear of a request while it runs.
struct RequestListeners: Sendable {
    /// Take the progress.
    var progress: [@Sendable (TransferProgress) -> Void] = []
    /// Take the head of each response on a queue, or immediately. An error that one of them throws ends the request.
    var head: [(queue: DispatchQueue?, listener: @Sendable (HTTPResponse) throws -> Void)] = []
    /// Take interim responses.
    var interim: [@Sendable (HTTPResponse) -> Void] = []

    /// True if a closure hears of heads.
    var hearsHeads: Bool { !head.isEmpty || !interim.isEmpty }
}
