/// Reports the progress of a download's file. Bodies of errors and redirects do not count, and a new exchange does not restart the count.
final class DownloadActivity: RequestActivity {
    private let wrapped: any RequestActivity
    private let file: PartialFile
    private let hasStarted = Lock(false)
    /// Reports one value at a time. Otherwise one of several parallel exchanges could report the progress that it read before another
    /// exchange reported more. An exchange that finds another one reporting leaves its report to it, which ends after the report.
    private let reports = SerialRunner()

    init?(_ wrapped: (any RequestActivity)?, _ file: PartialFile) {
        guard let wrapped else { return nil }
        self.wrapped = wrapped
        self.file = file
    }

    func requestDidStart(attempt: Int) {
        let isFirst = hasStarted.withLock { hasStarted in
            defer { hasStarted = true }
            return !hasStarted
        }
        guard isFirst else { return }
        wrapped.requestDidStart(attempt: attempt)
        // Reports bytes that an earlier attempt or another run has saved.
        if file.progress.completed > 0 { notify() }
    }

    func requestDidMeasure(_ connection: ConnectionMetrics) { wrapped.requestDidMeasure(connection) }

    func requestDidReceiveInterim(_ head: ReceivedHead) { wrapped.requestDidReceiveInterim(head) }

    func requestDidReceiveHead(_ head: ReceivedHead) { wrapped.requestDidReceiveHead(head) }

    func requestDidSend(bytes: Int64, of total: Int64?) {}

    func requestDidReceive(bytes: Int64, of total: Int64?) { notify() }

    private func notify() {
        reports.run { [wrapped, file] in
            let progress = file.progress
            wrapped.requestDidReceive(bytes: progress.completed, of: progress.total)
        }
    }
}
