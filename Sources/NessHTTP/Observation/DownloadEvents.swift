import NessLock

/// Turns the bytes of a download's exchanges into those of its file. Bodies of errors and redirects do not count, and a new exchange does
/// not restart the count.
final class DownloadEvents: Sendable {
    private let file = Lock(PartialFile?.none)
    /// Reports one value at a time. Otherwise one of several parallel requests could report the progress that it read before another one
    /// reported more. A request that finds another one reporting leaves its report to it, which ends after the report.
    private let reports = SerialRunner()

    func setFile(_ file: PartialFile) { self.file.withLock { $0 = file } }

    func pass(_ event: ExchangeEvent, _ report: @escaping @Sendable (ExchangeEvent) -> Void) {
        switch event {
        case .began:
            report(event)
            // Reports bytes that an earlier exchange or another run has saved.
            if let file = file.withLock({ $0 }), file.progress.completed > 0 { reportProgress(to: report) }
        case .received: reportProgress(to: report)
        case .sent, .waitsForNetwork, .connection, .interim, .head: report(event)
        }
    }

    private func reportProgress(to report: @escaping @Sendable (ExchangeEvent) -> Void) {
        guard let file = file.withLock({ $0 }) else { return }
        reports.run {
            let progress = file.progress
            report(.received(progress.completed, of: progress.total))
        }
    }
}
