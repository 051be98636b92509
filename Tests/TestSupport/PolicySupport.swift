import Foundation
import NessHTTP
import NessLock
import NessTesting

/// A manager over a mock, both on one clock.
package struct Rig {
    package let mock: MockTransport
    package let clock: ManualClock
    package let ness: Ness

    package init(
        advances: Bool = true, onUnmatched: MockTransport.UnmatchedPolicy = .fail,
        _ configure: (inout Ness.Configuration) -> Void = { _ in }
    ) {
        let clock = ManualClock(advancesAutomatically: advances)
        let mock = MockTransport(onUnmatched: onUnmatched, clock: clock)
        self.clock = clock
        self.mock = mock
        ness = Ness { configuration in
            configuration.transport = mock
            configuration.clock = clock
            configuration.baseURL = URL(string: "https://mock.test")
            configuration.maximumConnectionsPerHost = 10_000
            configure(&configuration)
        }
    }

    /// Waits until so many wait for a time that is meant to pass, and nobody for anything else.
    package func untilAsleep(_ count: Int = 1) async { await clock.waitUntil { $0.sleeps.count == count && $0.sleeperCount == count } }
}

/// Seeds for a test with random timing: as many as NESS_ROUNDS says, or a few.
package func seeds(_ few: UInt64) -> Range<UInt64> {
    0..<(ProcessInfo.processInfo.environment["NESS_ROUNDS"].flatMap { UInt64($0) } ?? few)
}

/// Records the attempts that it decides about.
package struct AskedControl: RetryControl {
    package let asked = Log<FailedAttempt>()
    package let wrapped: any RetryControl

    package init(_ wrapped: any RetryControl = CounterRetryControl(maxRetryCount: 3)) { self.wrapped = wrapped }

    package func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
        asked.add(attempt)
        return await wrapped.shouldRetry(attempt)
    }
}

/// A control that always wants another attempt, three at most.
package struct Eager: RetryControl {
    package init() {}

    package func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision { attempt.number <= 3 ? .retry : .noRetry }
}

/// Returns an authentication whose credential is the value of the field `Authorization`.
package func refreshing(
    from credential: String = "old", _ refresh: @escaping @Sendable () async throws -> String = { "new" }
) -> RefreshableAuthentication<String> {
    RefreshableAuthentication(credential: credential) {
        ["Authorization": $0]
    } refresh: { _, _ in
        try await refresh()
    }
}

extension Rig {
    /// Sends another request. Earlier requests have been sent by then, as far as a test can know without sleeping.
    package func sentinel() async {
        mock.on(.get, "/sentinel") { _ in .status(204) }
        _ = try? await ness.httpRequest(withUrl: "sentinel").dataRequest().value
    }
}
