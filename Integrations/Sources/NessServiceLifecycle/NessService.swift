import NessHTTP
import ServiceLifecycle

/// A manager as a service: at a graceful shutdown its running requests may end, and then its connections close.
///
/// ```swift
/// let group = ServiceGroup(
///     configuration: .init(
///         services: [
///             .init(service: NessService(ness, shutdownWithin: .seconds(5))),
///             .init(service: server),
///         ],
///         gracefulShutdownSignals: [.sigterm],
///         logger: logger))
/// ```
///
/// A `ServiceGroup` shuts its services down in reverse order, one after another. Put the manager before the services that send with it:
/// their requests then end first. A server may wait for its last response without a limit. `maximumGracefulShutdownDuration` of the group
/// ends that, and cancels the services.
public struct NessService: Service {
    private let ness: Ness
    private let limit: Duration

    /// Makes a service.
    /// - Parameters:
    ///   - ness: The manager.
    ///   - limit: The longest time that running requests may take after the shutdown has started, by the manager's clock. Then they are
    ///     dropped: see `Ness.shutdown(within:)`.
    public init(_ ness: Ness, shutdownWithin limit: Duration = .seconds(30)) { (self.ness, self.limit) = (ness, limit) }

    /// Waits for the graceful shutdown or for the cancellation of the task, and shuts the manager down. A cancellation drops the running
    /// requests immediately.
    public func run() async throws {
        try? await gracefulShutdown()
        await ness.shutdown(within: Task.isCancelled ? .zero : limit)
    }
}
