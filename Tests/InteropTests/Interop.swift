#if os(Linux)
import TestSupport
import Testing

/// The rows against real servers. A server starts when a row first needs it, and ends after the last row.
///
/// The rows run one at a time, because some measure the load of a server or kill it.
@Suite(.endsServers, .inTurn) enum Interop {}

extension Interop {
    /// A line that names the servers whose rows are skipped.
    @Suite(
        .enabled(
            if: Program.areRequired || Program.missing.isEmpty,
            "not installed, so their rows are skipped: \(Program.missing) (.ci/interop-servers installs them)")
    ) struct InstallationTests {
        @Test("every server is installed")
        func servers() { #expect(Program.missing.isEmpty) }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips rows whose servers are not installed.
    static func needs(_ programs: Program...) -> ConditionTrait {
        let missing = programs.filter { !$0.isInstalled }
        return .enabled(if: missing.isEmpty, "not installed: \(missing)")
    }
}
#endif
