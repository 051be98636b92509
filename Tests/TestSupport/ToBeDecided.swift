import Testing

/// Marks a test whose expectation on Apple platforms is a guess, because nothing documents what URLSession does there.
///
/// Until the tests have run on a Mac, a failure there is a known issue, and the output names the reason. On Linux the test is like any other.
/// For tests only, not for suites.
package struct ToBeDecided: TestTrait, TestScoping {
    let reason: Comment

    package func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        #if canImport(Darwin)
        await withKnownIssue("to be decided on a Mac: \(reason)", isIntermittent: true) { try await function() }
        #else
        try await function()
        #endif
    }
}

extension Trait where Self == ToBeDecided {
    /// Marks a test whose expectation on Apple platforms is a guess.
    /// - Parameter reason: The behavior that nothing documents.
    package static func toBeDecidedOnAMac(_ reason: Comment) -> ToBeDecided { ToBeDecided(reason: reason) }
}
