/// The tasks that run a call. Chosen once, when the call is made.
///
/// | | the attempts run in | a flight that the call starts runs in |
/// |---|---|---|
/// | `.caller` | the task of the caller, who awaits the call | the same task; a separate one if something may outlast the caller |
/// | `.promise` | the task of the call's promise | the same task, which stays for others, as it has nothing else to do |
/// | `.promiseAboveFlights` | the task of the call's promise | the same task; a separate one if something may outlast the caller |
///
/// Two things may outlast a caller, who leaves at a drop, a pause or the idle timeout: other callers who have joined the flight, and code of
/// the application that the flight awaits, which may ignore a cancellation.
///
/// A separate task for each flight that others may join would make the second and the third row one. It was measured: a GET by a promise
/// then costs seven more allocations (42 in place of 35) and a quarter more CPU.
enum Execution: Sendable {
    /// The caller's task, as nothing above the flight awaits code of the application: the caller can leave at any moment.
    case caller
    /// The promise's task, as no step above the flight has anything to do with its outcome.
    case promise
    /// The promise's task. Loaders, a retry policy or the cache continue after the flight.
    case promiseAboveFlights

    /// The steps above the flights, of a manager or of a request.
    struct Steps: Sendable {
        /// True if one of them continues after a flight.
        var continueAfterFlights: Bool
        /// True if one of them awaits code of the application.
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
    ///   - mayOutlastCaller: True if others may join the flight, or if it awaits code of the application while it sends.
    ///   - asksApplication: True if a closure decides about its redirects.
    func needsTask(mayOutlastCaller: Bool, asksApplication: Bool) -> Bool {
        switch self {
        case .caller: mayOutlastCaller || asksApplication
        case .promise: false
        case .promiseAboveFlights: mayOutlastCaller
        }
    }
}
