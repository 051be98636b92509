import NessLock

/// Turns the events of a download's requests into those of its file. Bodies of errors and redirects do not count, and a new request does
/// not restart the count.
final class DownloadEvents: Sendable {
    private let state = Lock((hasBegun: false, file: PartialFile?.none))
    /// Reports one value at a time. Otherwise one of several parallel requests could report the progress that it read before another one
    /// reported more. A request that finds another one reporting leaves its report to it, which ends after the report.
    private let reports = SerialRunner()

    func setFile(_ file: PartialFile) { state.withLock { $0.file = file } }

    func pass(_ event: ExchangeEvent, _ report: @escaping @Sendable (ExchangeEvent) -> Void) {
        switch event {
        case .began:
            let isFirst = state.withLock { state in
                defer { state.hasBegun = true }
                return !state.hasBegun
            }
            guard isFirst else { return }
            report(event)
            // Reports bytes that an earlier attempt or another run has saved.
            if let file = state.withLock({ $0.file }), file.progress.completed > 0 { reportProgress(to: report) }
        case .received: reportProgress(to: report)
        case .sent: break
        case .waitsForNetwork, .connection, .interim, .head: report(event)
        }
    }

    private func reportProgress(to report: @escaping @Sendable (ExchangeEvent) -> Void) {
        guard let file = state.withLock({ $0.file }) else { return }
        reports.run {
            let progress = file.progress
            report(.received(progress.completed, of: progress.total))
        }
    }
}
