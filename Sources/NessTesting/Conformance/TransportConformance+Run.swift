import NessHTTP

extension TransportConformance {
    /// Runs checks against a transport, one after another.
    /// - Parameters:
    ///   - makeTransport: Makes a new transport. It is called at least once for each check, off the main thread. `nil` fails the check. The
    ///     suite shuts each transport down after its check.
    ///   - checks: The checks to run. All by default.
    ///   - authority: The authority whose certificates the transport trusts; `nil` skips the checks that need one.
    ///   - limits: The checks that the transport is known to fail, with the reasons. A check that passes although it is in the list fails
    ///     the run, as does an identifier that no check has.
    ///   - watchdog: The longest real time for one check. A check that takes longer fails.
    /// - Returns: The report. If the calling task is canceled, the remaining checks are reported as skipped.
    public static func run(
        _ makeTransport: @escaping @Sendable () async throws -> (any Transport)?, checks: [Check] = Self.checks,
        authority: TestAuthority? = nil, except limits: [ID: KnownLimit] = [:], within watchdog: Duration = .seconds(60)
    ) async -> Report {
        var report = Report()
        let known = Set(Self.checks.map(\.id))
        for id in limits.keys.filter({ !known.contains($0) }).sorted(by: { $0.rawValue < $1.rawValue }) {
            report.failures.append(Report.Failure(id: id, title: "No check has this identifier.", problems: []))
        }
        for check in checks {
            let limit = limits[check.id]
            if Task.isCancelled {
                report.skipped.append(Report.Note(id: check.id, reason: "the run was canceled"))
            } else if case .notRun(let reason)? = limit {
                report.knownLimits.append(Report.Note(id: check.id, reason: reason))
            } else if check.needsAuthority, authority == nil {
                report.skipped.append(Report.Note(id: check.id, reason: "it needs an authority that the transport trusts"))
            } else {
                let problems = await CheckContext(makeTransport, authority: authority).problems(of: check, within: watchdog)
                report.add(check, problems, limit)
            }
        }
        return report
    }
}

extension TransportConformance.Report {
    /// Adds the outcome of a check that was run.
    fileprivate mutating func add(_ check: TransportConformance.Check, _ problems: [String], _ limit: TransportConformance.KnownLimit?) {
        switch (problems.isEmpty, limit) {
        case (true, .always(let reason)?):
            let problem = "the known limit is no longer needed, because the check passes (\(reason))"
            failures.append(Failure(id: check.id, title: check.title, problems: [problem]))
        case (true, _): passed.append(check.id)
        case (false, nil): failures.append(Failure(id: check.id, title: check.title, problems: problems))
        case (false, let limit?): knownLimits.append(Note(id: check.id, reason: limit.reason))
        }
    }
}
