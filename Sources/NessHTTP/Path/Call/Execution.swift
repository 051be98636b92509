/// The tasks that run a call. Chosen once, when the call is made.
///
/// | | the attempts run in | a flight that the call starts runs in |
/// |---|---|---|
/// | `.caller` | the task of the caller, who awaits the call | the same task; a separate one if something may outlast the caller |
/// | `.promise` | the task of the call's promise | the same task; it continues for other callers, because it has nothing else to do |
/// | `.promiseAboveFlights` | the task of the call's promise | the same task; a separate one if something may outlast the caller |
///
/// A caller leaves a flight at a drop, at a pause or at its idle timeout. Two things may outlast it: other callers who have joined the
/// flight, and application code that the flight awaits and that ignores the cancellation.
///
/// A separate task for each flight that others may join would make `.promise` superfluous. Measured, it costs a GET by a promise seven more
/// allocations (42 instead of 35) and a quarter more CPU.
enum Execution: Sendable {
    /// The caller's task. No step above the flight awaits application code, so the caller can leave at any moment.
    case caller
    /// The promise's task. No step above the flight uses its outcome.
    case promise
    /// The promise's task. Loaders, a retry policy or the cache continue after the flight.
    case promiseAboveFlights

    /// The work that the steps above the flights do, for a manager or a request.
    struct Steps: Sendable {
        /// True if a step continues after a flight.
        var continueAfterFlights: Bool
        /// True if a step awaits application code.
        var awaitApplication: Bool

        static func + (left: Steps, right: Steps) -> Steps {
            Steps(
                continueAfterFlights: left.continueAfterFlights || right.continueAfterFlights,
                awaitApplication: left.awaitApplication || right.awaitApplication)
        }
    }

    /// Chooses the tasks of a call.
    /// - Parameters:
    ///   - isAwaited: True for a caller who awaits the call, and needs no promise.
    ///   - steps: The steps above the flights of the call.
    init(isAwaited: Bool, _ steps: Steps) {
        self = isAwaited && !steps.awaitApplication ? .caller : steps.continueAfterFlights ? .promiseAboveFlights : .promise
    }

    /// Returns true if a flight needs a separate task.
    /// - Parameters:
    ///   - mayOutlastCaller: True if others may join the flight, if it can be paused, or if it awaits application code while it sends.
    ///   - asksApplication: True if a closure decides about its redirects.
    func needsTask(mayOutlastCaller: Bool, asksApplication: Bool) -> Bool {
        switch self {
        case .caller: mayOutlastCaller || asksApplication
        case .promise: false
        case .promiseAboveFlights: mayOutlastCaller
        }
    }
}
