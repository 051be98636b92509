/// The manager, as builders see it: it sends their requests.
///
/// Builders and running requests retain their sender, so a manager lives as long as they do.
protocol RequestSender: AnyObject, Sendable {
    /// The manager's settings for requests that set none.
    var defaults: RequestDefaults { get }
    /// The current environment, in which a new request starts.
    var environment: ServerEnvironment { get }
    /// False if requests carry no credential, unless they ask for one.
    var authenticates: Bool { get }
    /// The registry of the requests in flight.
    var running: RunningRequests { get }
    /// The clock for all waits.
    var pipelineClock: PipelineClock { get }
    /// The observers of requests that start now.
    var observers: [any RequestObserver] { get }
    /// Starts a call.
    /// - Parameters:
    ///   - call: The call.
    ///   - owner: The promise of the call.
    func start(_ call: Call, for owner: any CallOwner)
    /// The steps above the flights of every request.
    var steps: Execution.Steps { get }
    /// Runs a call that is registered in the calling task, and ends it.
    func run(_ call: Call) async
}
