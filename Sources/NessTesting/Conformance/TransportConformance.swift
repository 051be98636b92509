import NessHTTP

/// A test of any `Transport` against the contract in its documentation.
///
/// The suite has some 275 checks. Each starts its own `TestServer`s, calls `Transport.send` directly, and compares what the server saw and
/// what `receive` got with one rule: the events of an exchange, framing and truncated bodies, every `Misbehavior` of the catalog, the
/// kinds of errors, requests that must not be sent twice, cancellation, back pressure, bodies, shutdown and load. It needs no test
/// framework, so it runs under Swift Testing and XCTest alike.
///
/// ```swift
/// @Test func conforms() async {
///     let report = await TransportConformance.run({ MyTransport() }, except: [
///         "receive.back-pressure": "the event loop cannot pause a connection",
///         "shutdown.twice": .notRun("a second shutdown traps here"),
///     ])
///     #expect(report.isPassed, "\(report)")
/// }
/// ```
///
/// The report names each rule that the transport breaks, what was expected, and what was received:
///
/// ```text
/// 246 passed, 1 failed, 2 known limits, 5 skipped
/// ✘ framing.truncated-by-chunks: A chunked body without its last chunk fails …
///     closed inside a chunk: expected an error of the kind truncated, got 200 …
/// ```
///
/// **One test per check.** A test with arguments shows each check by itself, and can run one alone:
///
/// ```swift
/// @Test(arguments: TransportConformance.checks(in: .cancel))
/// func cancellation(_ check: TransportConformance.Check) async {
///     let report = await TransportConformance.run(
///         { MyTransport() }, checks: [check])
///     #expect(report.isPassed, "\(report)")
/// }
/// ```
///
/// **Known limits.** A check in `except` may fail. A known limit that passes fails the run, so that the list stays true; use
/// `KnownLimit.sometimes(_:)` for a fault that depends on timing. Use `KnownLimit.notRun(_:)` for a fault that ends the process or hangs.
///
/// **TLS.** Checks over https need a transport that trusts the certificates of a `TestAuthority`. Pass the authority, and give its `pem` to
/// the transport. Without an authority the report lists these checks as skipped.
///
/// ```swift
/// let authority = try TestAuthority()
/// let report = await TransportConformance.run(
///     { MyTransport(trusting: authority.pem) }, authority: authority)
/// ```
///
/// **Time.** No check waits for time to pass: each waits for an event of the server or of the exchange. A watchdog ends a check whose event
/// never happens. The check then fails, and its exchange is abandoned.
///
/// **Processes.** The checks use loopback connections only, except `errors.no-such-host`, which looks up a name that does not exist. Let no
/// proxy be set in the environment.
public enum TransportConformance {
    /// The subject of a check. It is the first part of the check's identifier.
    public enum Group: String, Sendable, Hashable, CaseIterable {
        /// The request on the wire, and the events of a well-formed response.
        case contract
        /// The end of a body, and malformed heads.
        case framing
        /// Every entry of `Misbehavior.all`.
        case misbehavior
        /// The kinds of errors.
        case errors
        /// Requests that must not be sent twice, and unsolicited responses.
        case resends
        /// Cancellation at every moment of an exchange.
        case cancel
        /// The calls of `receive`.
        case receive
        /// The bodies of requests.
        case bodies
        /// `Transport.shutdown()`.
        case shutdown
        /// Many exchanges, concurrent and in a row.
        case load
        /// Exchanges over TLS.
        case secure
    }

    /// The stable identifier of a check, such as `cancel.in-body` or `misbehavior.gzip-cut`.
    public struct ID: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The text: the group, a dot, and a name in kebab-case.
        public let rawValue: String

        /// Makes an identifier, without checking that there is such a check.
        /// - Parameter rawValue: The text.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Makes an identifier from a literal.
        public init(stringLiteral value: String) { rawValue = value }

        /// The text.
        public var description: String { rawValue }
    }

    /// A check of one rule.
    public struct Check: Sendable, Identifiable, CustomStringConvertible {
        /// The stable identifier.
        public let id: ID
        /// The group.
        public let group: Group
        /// The rule that a transport has to keep, in one sentence.
        public let title: String
        /// True if the check speaks TLS with a certificate that the transport has to trust.
        public let needsAuthority: Bool
        let body: @Sendable (CheckContext) async throws -> Void

        /// The identifier.
        public var description: String { id.rawValue }
    }

    /// All checks, group by group.
    public static let checks: [Check] = [
        requestChecks, responseChecks, framingChecks, misbehaviorChecks, errorChecks, resendChecks, staleAnswerChecks, cancelChecks,
        cancelRaceChecks, receiveChecks, bodyChecks, shutdownChecks, loadChecks, secureChecks,
    ].flatMap { $0 }

    /// Returns the checks of a group.
    /// - Parameter group: The group.
    public static func checks(in group: Group) -> [Check] { checks.filter { $0.group == group } }
}

extension TransportConformance.Group {
    /// Makes a check of this group.
    /// - Parameters:
    ///   - name: The second part of the identifier, in kebab-case.
    ///   - title: The rule, in one sentence.
    ///   - needsAuthority: True if the transport has to trust the test's authority.
    ///   - body: Runs the check, and reports problems to the context. An error that it throws counts as a problem.
    func check(
        _ name: String, _ title: String, needsAuthority: Bool = false, _ body: @escaping @Sendable (CheckContext) async throws -> Void
    ) -> TransportConformance.Check {
        TransportConformance.Check(
            id: TransportConformance.ID(rawValue: "\(rawValue).\(name)"), group: self, title: title, needsAuthority: needsAuthority,
            body: body)
    }

    /// Makes a check, and the same check over TLS.
    func checks(
        _ name: String, _ title: String, _ body: @escaping @Sendable (_ isSecure: Bool, CheckContext) async throws -> Void
    ) -> [TransportConformance.Check] {
        [
            check(name, title) { try await body(false, $0) },
            check("\(name)-secure", "Over TLS: \(title)", needsAuthority: true) { try await body(true, $0) },
        ]
    }
}
