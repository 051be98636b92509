/// The events of a call's exchanges, and its progress.
extension Call {
    private var kind: RequestKind { options.kind }

    /// The number of attempts that reached the wire.
    var attempts: Int { state.withLock { $0.counts.attempts } }

    /// True if the request has succeeded.
    var hasSucceeded: Bool { state.withLock { $0.hasSucceeded == true } }

    /// The progress of the current attempt.
    var progress: TransferProgress { state.withLock { $0.counts.progress(of: kind, expecting: options.download?.expectation?.size) } }

    /// The progress of the request's body in the current attempt.
    var uploadProgress: TransferProgress { state.withLock { $0.counts.uploadProgress } }

    /// The progress of the response's body in the current attempt.
    var downloadProgress: TransferProgress { state.withLock { $0.counts.downloadProgress } }

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

    /// Takes an event of an exchange of this call: counts it, and notifies the observers and the caller's closures.
    /// - Parameters:
    ///   - event: The event.
    ///   - attempt: The number of this call's attempt that the exchange belongs to.
    ///   - other: The request of the call that started the exchange; `nil` if this call did.
    func report(_ event: ExchangeEvent, attempt: Int, joining other: HTTPRequest?) {
        let (reporter, part) = state.withLock { state in
            (state.counts.count(event, attempt: attempt, of: kind) ? state.counts.reporter : nil, state.counts.part)
        }
        reporter?.update(progress)
        if let part, case .interim(let head) = event { part.interim(head.response) }
        if let observation {
            let shown = other.map { event.shown(to: CallContext(self), insteadOf: $0) } ?? event
            observation.report(shown, isJoined: other != nil)
        }
        if options.listeners?.hearsHeads == true { notifyListeners(of: event) }
    }

    private func notifyListeners(of event: ExchangeEvent) {
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
                        // On a queue, this may run after the call has ended. It still runs after a success, but not after a drop or a
                        // failure.
                        if !hasEnded || self.response != nil { try listener(response) }
                    } catch {
                        end(with: .failure(error))
                    }
                }
                if let queue { queue.async(execute: notify) } else { notify() }
            }
        case .waits, .waited, .began, .waitsForNetwork, .sent, .received, .connection, .ended: break
        }
    }

    /// Reports the last progress, when the call ends.
    func finishProgress() { state.withLock { $0.counts.reporter }?.finish(progress, hasSucceeded: hasSucceeded) }
}

extension ExchangeEvent {
    /// Returns the event for the observers of a call that has joined the exchange: with the identifier, the tags and the secret names of its request.
    fileprivate func shown(to context: CallContext, insteadOf other: HTTPRequest) -> ExchangeEvent {
        switch self {
        case .began(let exchange): return .began(exchange.observed(by: context.request))
        case .ended(let exchange, let outcome):
            let shown = outcome.map { response in
                var response = response
                response.request = response.request.observed(by: context.request)
                return response
            }.mapError { context.explain($0, of: other) }
            return .ended(exchange.observed(by: context.request), shown)
        case .head, .waits, .waited, .waitsForNetwork, .sent, .received, .connection, .interim: return self
        }
    }
}
