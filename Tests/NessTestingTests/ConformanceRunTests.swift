import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// The run of a suite of checks, and its report.
@Suite(.inTurn) struct ConformanceRunTests {
    private typealias Suite = TransportConformance

    /// A transport that answers every request with a status and without a body.
    private struct Canned: Transport {
        var statusCode = 200
        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            try await receive(.head(statusCode: statusCode, headers: [:]))
        }
    }

    private static func check(_ id: Suite.ID) throws -> Suite.Check { try #require(Suite.checks.first { $0.id == id }) }

    @Test("identifiers are unique, in kebab case, and begin with their group; a title is a sentence") func identifiers() {
        let checks = Suite.checks
        #expect(checks.count > 250)
        #expect(Set(checks.map(\.id)).count == checks.count)
        for check in checks {
            let parts = check.id.rawValue.split(separator: ".", omittingEmptySubsequences: false)
            #expect(parts.count == 2 && parts[0] == check.group.rawValue, "\(check)")
            #expect(parts.last?.allSatisfy { $0 == "-" || $0.isNumber || ($0.isLowercase && $0.isASCII) } == true, "\(check)")
            #expect(check.title.hasSuffix("."), "\(check)")
        }
        for group in Suite.Group.allCases { #expect(!Suite.checks(in: group).isEmpty, "\(group)") }
        #expect(Suite.checks(in: .misbehavior).count == Misbehavior.all.count)
    }

    @Test("a failure names the check, its rule, what was expected and what was received") func failure() async throws {
        let check = try Self.check("contract.statuses")
        let report = await Suite.run({ Canned() }, checks: [check])
        #expect(!report.isPassed && report.passed.isEmpty)
        let failure = try #require(report.failures.first)
        #expect(failure.id == check.id && failure.title == check.title)
        #expect(failure.problems.first == "200: expected 200 with 4 bytes \"body\", got 200 with 0 bytes \"\"")
        #expect("\(report)".contains("0 passed, 1 failed"))
        #expect("\(report)".contains("✘ contract.statuses: Every final status is a response, with its body."))
        #expect("\(report)".contains("    200: expected 200"))
    }

    @Test("a known limit may fail, and a run with it passes") func knownLimit() async throws {
        let checks = try [Self.check("contract.statuses"), Self.check("contract.redirects")]
        let report = await Suite.run(
            { Canned() }, checks: checks,
            except: [
                "contract.statuses": "it is canned", "contract.redirects": .sometimes("it is canned, too"),
            ])
        #expect(report.isPassed)
        #expect(report.knownLimits.map(\.id) == ["contract.statuses", "contract.redirects"])
        #expect("\(report)".contains("known limit: contract.statuses: it is canned"))
    }

    @Test("a known limit that is no longer needed fails the run, unless it is one of some times") func unneededLimit() async throws {
        let check = try Self.check("contract.kept-coding")
        let report = await Suite.run({ Canned() }, checks: [check], except: [check.id: "there was a reason"])
        #expect(report.failures.map(\.id) == [check.id])
        #expect("\(report)".contains("no longer needed") && "\(report)".contains("there was a reason"))
        #expect(await Suite.run({ Canned() }, checks: [check], except: [check.id: .sometimes("it depends")]).passed == [check.id])
    }

    @Test("a check that must not run does not") func notRun() async throws {
        let check = try Self.check("contract.statuses"), count = Lock(0)
        let report = await Suite.run(
            {
                count.withLock { $0 += 1 }
                return Canned()
            }, checks: [check], except: [check.id: .notRun("it traps")])
        #expect(report.isPassed && report.knownLimits.map(\.reason) == ["it traps"])
        #expect(count.withLock { $0 } == 0)
    }

    @Test("a known limit of a check that does not exist fails the run") func unknownCheck() async {
        let report = await Suite.run({ Canned() }, checks: [], except: ["contract.no-such-check": "a slip of the pen"])
        #expect(report.failures.map(\.id) == ["contract.no-such-check"])
    }

    @Test("without an authority the checks of TLS are skipped") func authority() async {
        let checks = Suite.checks(in: .secure)
        let report = await Suite.run({ Canned() }, checks: checks)
        #expect(report.isPassed && report.skipped.map(\.id) == checks.map(\.id))
    }

    @Test("a closure that makes no transport fails the check") func noTransport() async throws {
        struct Unavailable: Error {}
        let check = try Self.check("contract.statuses")
        #expect(await Suite.run({ nil }, checks: [check]).failures.map(\.id) == [check.id])
        #expect(await Suite.run({ throw Unavailable() }, checks: [check]).failures.map(\.id) == [check.id])
    }

    @Test("the watchdog ends a check whose transport never returns, and the next check runs") func watchdog() async throws {
        struct Silent: Transport {
            let never = TestGate()
            func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
                await Task { [never] in await never.wait() }.value
            }
        }
        let checks = try [Self.check("contract.statuses"), Self.check("cancel.before-head")], silent = Silent()
        let report = await Suite.run({ silent }, checks: checks, within: .milliseconds(200))
        #expect(report.failures.map(\.id) == checks.map(\.id))
        for failure in report.failures { #expect(failure.problems.first?.contains("did not end within") == true) }
        silent.never.open()
    }

    @Test("a canceled run skips the remaining checks") func cancelled() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Suite.run({ Canned() })
        }
        let report = await task.value
        #expect(report.isPassed && report.skipped.count == Suite.checks.count)
    }
}
