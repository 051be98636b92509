/// The numbers of a call: its attempts, and the bytes of the current one.
struct CallCounts: Sendable {
    fileprivate var attempts = 0
    fileprivate var sent: Int64 = 0
    fileprivate var toSend: Int64?
    fileprivate var received: Int64 = 0
    fileprivate var toReceive: Int64?
    /// True once the head of the current response has arrived.
    fileprivate var hasHead = false
    /// Reports progress to listeners; `nil` until the first listener is added.
    fileprivate var reporter: ProgressReporter?

    /// The request ends.
    mutating func end(with response: HTTPResponse?) {
        guard let response else { return }
        // The cache may respond after an attempt that broke off. The bytes of that attempt are not part of the response.
        if response.file == nil, response.source == .cache || response.source == .stale { (received, toReceive) = (0, nil) }
        // A body without a length has ended, and its length is known now.
        hasHead = true
        toSend = toSend ?? sent
        toReceive = toReceive ?? received
        // A download may have been paused when its shared flight ended: it did not hear of the last bytes.
        if response.file != nil, let toReceive { received = toReceive }
    }
}

extension Call {
    private var kind: RequestKind { options.kind }

    /// The number of attempts that reached the wire.
    var attempts: Int { state.withLock { $0.counts.attempts } }

    /// True if the request has succeeded.
    var hasSucceeded: Bool { state.withLock { $0.hasSucceeded == true } }

    /// The progress of the current attempt.
    var progress: TransferProgress {
        state.withLock { state in
            let counts = state.counts
            if kind == .upload { return TransferProgress(completedBytes: counts.sent, totalBytes: counts.toSend) }
            // Until the head has arrived, only the length of the request's body is known, and that of a file which the caller expects. An
            // empty body has no progress.
            let toSend = counts.toSend ?? 0, toReceive = counts.hasHead ? counts.toReceive : options.download?.expectation?.size
            let total = toReceive.map { $0.saturatingAdd(toSend) } ?? (counts.hasHead || toSend == 0 ? nil : toSend)
            // The bytes of a body without a length would count, but not their number.
            let isKnown = counts.toSend != nil || counts.sent == 0
            return TransferProgress(completedBytes: counts.sent.saturatingAdd(counts.received), totalBytes: isKnown ? total : nil)
        }
    }

    /// The progress of the request's body in the current attempt.
    var uploadProgress: TransferProgress {
        state.withLock { TransferProgress(completedBytes: $0.counts.sent, totalBytes: $0.counts.toSend) }
    }

    /// The progress of the response's body in the current attempt.
    var downloadProgress: TransferProgress {
        state.withLock { TransferProgress(completedBytes: $0.counts.received, totalBytes: $0.counts.toReceive) }
    }

    /// Adds a progress listener. If bytes have moved already, it is notified immediately.
    func listen(_ listener: @escaping ProgressReporter.Listener, atEnd end: (@Sendable () -> Void)?) {
        let (reporter, hasSucceeded) = state.withLock { state in
            let reporter = state.counts.reporter ?? ProgressReporter(clock)
            state.counts.reporter = reporter
            return (reporter, state.hasSucceeded)
        }
        // A reporter that was just made does not know that the request has ended.
        if let hasSucceeded { reporter.finish(progress, hasSucceeded: hasSucceeded) }
        reporter.add(listener, atEnd: end)
        if progress.completedBytes > 0 { reporter.update(progress) }
    }

    /// Takes an event of an exchange of this call: counts it, and tells the observers and the caller's closures.
    /// - Parameters:
    ///   - event: The event.
    ///   - attempt: The number of this call's attempt that the exchange belongs to.
    func report(_ event: ExchangeEvent, attempt: Int) {
        let reporter = state.withLock { state in count(event, attempt: attempt, &state) ? state.counts.reporter : nil }
        reporter?.update(progress)
        observation?.report(event)
        if options.listeners?.hearsHeads == true { tellListeners(of: event) }
    }

    /// Returns true if the progress has changed.
    private func count(_ event: ExchangeEvent, attempt: Int, _ state: inout CallState) -> Bool {
        switch event {
        case .began:
            state.counts.attempts = attempt
            (state.counts.sent, state.counts.toSend) = (0, nil)
            // A download resumes its partial file, so the received bytes also count for the next attempt.
            if kind != .download { (state.counts.received, state.counts.toReceive, state.counts.hasHead) = (0, nil, false) }
            return false
        // The progress of a download is that of its file.
        case .sent where kind == .download: return false
        case .sent(let bytes, let total): (state.counts.sent, state.counts.toSend) = (bytes, total)
        case .received(let bytes, let total):
            (state.counts.received, state.counts.toReceive, state.counts.hasHead) = (bytes, total, true)
        case .waitsForNetwork, .connection, .interim, .head: return false
        }
        return true
    }

    private func tellListeners(of event: ExchangeEvent) {
        guard let listeners = options.listeners else { return }
        let context = CallContext(self)
        switch event {
        case .interim(let head):
            for listener in listeners.interim where !hasEnded { listener(context.shown(head.response)) }
        case .head(let head):
            let response = context.shown(head.response)
            for (queue, listener) in listeners.head {
                let notify: @Sendable () -> Void = { [self] in
                    do {
                        // On a queue it may come after the end. Then a success is told, a drop or a failure is not.
                        if !hasEnded || self.response != nil { try listener(response) }
                    } catch {
                        end(with: .failure(error))
                    }
                }
                if let queue { queue.async(execute: notify) } else { notify() }
            }
        case .began, .waitsForNetwork, .sent, .received, .connection: break
        }
    }

    /// Reports the last progress, when the call ends.
    func finishProgress() {
        state.withLock { $0.counts.reporter }?.finish(progress, hasSucceeded: hasSucceeded)
    }
}
