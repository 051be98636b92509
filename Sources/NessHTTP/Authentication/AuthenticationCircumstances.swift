/// The circumstances in which an authentication runs: what a refresh needs to know of the request and of the manager. A task-local value, so
/// that an authentication that wraps another need not pass them on.
struct AuthenticationCircumstances: Sendable {
    @TaskLocal static var current: AuthenticationCircumstances?

    /// The manager's clock.
    let clock: PipelineClock
    /// Counts the manager's requests that wait for a refresh.
    let waiting: WaitingRequests
    /// True if the credential was just renewed, and is not to be renewed ahead of time.
    let isRenewed: Bool
    /// Returns the manager that sends the request; `nil` if it has been released.
    let manager: @Sendable () -> (any AnyObject & Sendable)?
    /// Returns true if the call has ended, or is from before a reset or a shutdown, which ends it.
    let isOver: @Sendable () -> Bool
    /// Notes that the credential could not be renewed, so that the request is not sent again.
    let noteFailure: @Sendable () -> Void
    /// Registers a refresh with the manager, whose reset and shutdown end it.
    let register: RunningRefresh.Register
}
