/// The manager, as builders see it: it sends their requests.
///
/// Builders and running requests retain their sender, so a manager lives as long as they do. So does the promise of a
/// resumable upload, for `terminate()`.
protocol RequestSender: AnyObject, Sendable {
    /// The manager's settings for requests that set none.
    var defaults: RequestDefaults { get }
    /// The current environment, in which a new request starts.
    var environment: ServerEnvironment { get }
    /// False if requests carry no credential, unless they ask for one.
    var authenticates: Bool { get }
    /// The observers of requests that start now.
    var observers: [any RequestObserver] { get }
    /// The steps that send the requests.
    var pipeline: Pipeline { get }
}
