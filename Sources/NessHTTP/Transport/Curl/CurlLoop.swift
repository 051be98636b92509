#if canImport(CNessCurl)
import CNessCurl

/// The work of the engine's thread: starts transfers, lets libcurl move bytes, hands events on. Used by that thread alone.
final class CurlLoop {
    private let engine: CurlEngine
    private var handle: CurlMultiHandle
    private var multi: UnsafeMutableRawPointer { handle.pointer }
    /// The end of the last transfer. `nil` while there are transfers, and while there is no connection.
    private var idleSince: ContinuousClock.Instant?
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    private var transfersByHandle: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// `nil` before the first exchange.
    private var template: CurlTemplate?
    /// The transfers that have events to hand on in this turn.
    private var notified: [CurlTransfer] = []
    private var connectionLimit = 0
    private(set) var connections = CurlConnections()
    let settings: CurlSettings

    init(_ engine: CurlEngine, _ handle: CurlMultiHandle) {
        self.engine = engine
        self.handle = handle
        settings = engine.settings
        if let limit = settings.maximumIdleConnections, limit > 0 { setConnectionLimit(limit) }
    }

    func run() {
        var commands: [CurlEngine.Command] = []
        while true {
            let isStopping = engine.takeCommands(&commands)
            for command in commands { perform(command) }
            commands.removeAll(keepingCapacity: true)
            if isStopping { return close() }
            ness_curl_multi_perform(multi)
            finishEnded()
            handOn()
            if engine.mayBeginSleep() { sleep() }
        }
    }

    /// Waits for a command, for bytes, for the next of libcurl's own timers, or for the end of the idle time.
    private func sleep() {
        let rest = idleSince.map { engine.idleLimit - (.now - $0) }
        if let rest, rest <= .zero { return closeConnections() }
        ness_curl_multi_poll(multi, Int32(min(rest ?? .seconds(60), .seconds(60)) / .milliseconds(1)) + 1)
    }

    /// Closes the connections, all of which are idle. Otherwise those that servers have closed would remain until the next exchange.
    private func closeConnections() {
        // Without descriptors for another handle it tries again after as long a time.
        guard let new = engine.renewHandle() else { return idleSince = .now }
        handle = new
        connections = CurlConnections()
        idleSince = nil
        if connectionLimit > 0 { setConnectionLimit(connectionLimit) }
    }

    /// Adds a transfer to those whose events are handed on at the end of the turn.
    func note(_ transfer: CurlTransfer) { notified.append(transfer) }

    /// Returns a closure that resumes a transfer, from any thread.
    func waker(for exchange: CurlExchange) -> @Sendable () -> Void {
        { [engine] in engine.resume(exchange) }
    }

    private func perform(_ command: CurlEngine.Command) {
        switch command {
        case .start(let exchange): start(exchange)
        case .resume(let exchange):
            guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
            transfer.resume()
            finishIfDelivered(transfer)
        case .cancel(let exchange):
            guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
            remove(transfer)
            exchange.mailbox.cancel(CancellationError())
        }
    }

    private func start(_ exchange: CurlExchange) {
        guard !exchange.mailbox.hasEnded else { return engine.didRelease(exchange) }
        // The host's place is taken until libcurl has let go of the connection.
        guard exchange.request.control?.enterSlot() ?? true else {
            engine.didRelease(exchange)
            return exchange.mailbox.cancel(CancellationError())
        }
        let transfer: CurlTransfer
        do {
            let template = try template ?? CurlTemplate(settings)
            self.template = template
            transfer = CurlTransfer(exchange, try template.copy(), in: self)
        } catch {
            leave(exchange)
            return exchange.mailbox.end(error)
        }
        do {
            try transfer.configure()
        } catch {
            ness_curl_easy_cleanup(transfer.easy)
            leave(exchange)
            return exchange.mailbox.end(error)
        }
        transfers[ObjectIdentifier(exchange)] = transfer
        transfersByHandle[transfer.easy] = transfer
        idleSince = nil
        keepConnections(for: transfers.count)
        add(transfer)
    }

    /// Has libcurl begin a transfer, or ends its exchange if libcurl refuses: nothing else would.
    private func add(_ transfer: CurlTransfer) {
        let code = ness_curl_multi_add(multi, transfer.easy)
        guard code != 0 else { return }
        transfer.exchange.mailbox.end(TransportError(.cannotConnect, "libcurl refused the transfer (\(code))"))
        remove(transfer)
    }

    /// With fewer connections kept than there are transfers, libcurl closes connections that the next transfer could use.
    private func keepConnections(for count: Int) {
        guard settings.maximumIdleConnections == nil, count > connectionLimit else { return }
        setConnectionLimit(max(128, 2 * count))
    }

    private func setConnectionLimit(_ limit: Int) {
        connectionLimit = limit
        // CURLMOPT_MAXCONNECTS
        ness_curl_multi_set_long(multi, 6, limit)
    }

    private func finishEnded() {
        var code: Int32 = 0
        while let easy = ness_curl_multi_next_ended(multi, &code) {
            guard let transfer = transfersByHandle[easy] else { continue }
            if transfer.restarts() {
                ness_curl_multi_remove(multi, easy)
                add(transfer)
                continue
            }
            transfer.end(code)
            detach(transfer)
            finishIfDelivered(transfer)
        }
    }

    /// Ends the exchange of a transfer that has ended, once its mailbox has had room for the whole body.
    private func finishIfDelivered(_ transfer: CurlTransfer) {
        guard transfer.isDelivered else { return }
        transfer.finish()
        remove(transfer)
    }

    private func remove(_ transfer: CurlTransfer) {
        detach(transfer)
        transfers[ObjectIdentifier(transfer.exchange)] = nil
        if transfers.isEmpty { idleSince = .now }
    }

    /// Takes a transfer from libcurl, which then uses its connection for others.
    private func detach(_ transfer: CurlTransfer) {
        // After this step the handle may belong to another transfer.
        guard transfersByHandle[transfer.easy] === transfer else { return }
        transfersByHandle[transfer.easy] = nil
        ness_curl_multi_remove(multi, transfer.easy)
        transfer.release()
        leave(transfer.exchange)
        ness_curl_easy_cleanup(transfer.easy)
    }

    /// Gives back the places of an exchange that uses no connection any more.
    private func leave(_ exchange: CurlExchange) {
        // First the engine's: the host's place admits the next exchange.
        engine.didRelease(exchange)
        exchange.request.control?.leaveSlot()
    }

    /// Hands events on once a turn: a small response is one batch, which wakes the caller's task once.
    private func handOn() {
        let transfers = notified
        notified.removeAll(keepingCapacity: true)
        for transfer in transfers { transfer.handOn() }
    }

    private func close() {
        for transfer in Array(transfers.values) {
            transfer.exchange.mailbox.cancel(CancellationError())
            remove(transfer)
        }
        engine.close()
    }
}
#endif
