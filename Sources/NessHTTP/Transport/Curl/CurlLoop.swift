#if os(Linux)
import CNessCurl

/// The work of the engine's thread: it starts transfers, lets libcurl move bytes, and hands events on. Only that thread uses it.
///
/// `@exclusivity(unchecked)` exempts the properties that each GET uses from Swift's exclusivity check, which takes 2 % of its instructions.
/// Only the engine's thread uses them, and no access to one of them runs code that uses it again.
final class CurlLoop {
    private let engine: CurlEngine
    private var handle: CurlMultiHandle
    private var multi: UnsafeMutableRawPointer { handle.pointer }
    /// The time at which the last transfer ended. `nil` while there are transfers, and while there is no connection.
    private var idleSince: ContinuousClock.Instant?
    /// The transfers that have not ended, in no order. Each stores its index as `place`.
    @exclusivity(unchecked) private var transfers: [CurlTransfer] = []
    /// The templates, one for each set of TLS demands. The most recently used one is last.
    @exclusivity(unchecked) private var templates: [CurlTemplate] = []
    /// The most templates.
    private static let templateLimit = 64
    /// The transfers that have events to hand on at the end of this turn.
    @exclusivity(unchecked) private var withEvents: [CurlTransfer] = []
    /// The https origins that did not choose HTTP/2 for their latest connection. Requests to them do not wait for a connection to share: if
    /// a server names no version, libcurl would hold them all until its first response.
    private(set) var http1Origins: Set<ParsedURL.Origin> = []
    /// The origins that were added to `http1Origins` in this turn.
    private var newHTTP1Origins: Set<ParsedURL.Origin> = []
    /// The number of idle connections that libcurl keeps. 0 for libcurl's default.
    private var connectionLimit = 0
    @exclusivity(unchecked) private(set) var connections = CurlConnections()
    /// The transfers by the connections that carry them.
    @exclusivity(unchecked) var use = CurlConnectionUse<CurlTransfer>()
    let settings: CurlSettings

    init(_ engine: CurlEngine, _ handle: CurlMultiHandle) {
        self.engine = engine
        self.handle = handle
        settings = engine.settings
    }

    /// Runs until the engine is stopped.
    func run() {
        var commands: [CurlEngine.Command] = []
        while true {
            ness_curl_enter()
            let isStopping = engine.takeCommands(&commands)
            for command in commands { perform(command) }
            commands.removeAll(keepingCapacity: true)
            if isStopping {
                close()
                return ness_curl_leave()
            }
            ness_curl_multi_perform(multi)
            finishEnded()
            startWaiting()
            handOn()
            ness_curl_leave()
            if engine.mayBeginSleep() { sleep() }
        }
    }

    /// Records whether an origin has chosen HTTP/2 for a new connection.
    func noteOrigin(_ origin: ParsedURL.Origin, speaksHTTP2: Bool) {
        if speaksHTTP2 {
            http1Origins.remove(origin)
            return
        }
        // Bounds the memory. Origins that are forgotten are learned again.
        if http1Origins.count >= 1_000 { http1Origins = [] }
        http1Origins.insert(origin)
        newHTTP1Origins.insert(origin)
    }

    /// Starts the transfers that wait for a connection to an origin that has turned out not to speak HTTP/2.
    private func startWaiting() {
        guard !newHTTP1Origins.isEmpty else { return }
        for transfer in transfers where newHTTP1Origins.contains(transfer.exchange.origin) && transfer.waitsForOtherTransfer {
            removeFromMulti(transfer)
            add(transfer) { try transfer.stopWaiting() }
        }
        newHTTP1Origins = []
    }

    /// Puts a transfer on a connection, if the connection is free.
    func join(_ transfer: CurlTransfer, on connection: Int64) -> Bool {
        // A transfer that has ended is taken off its connection after the turn.
        use.join(transfer, on: connection) { $0.isAttached && $0.isOnConnection }
    }

    /// Waits for a command, for bytes, for the next of libcurl's own timers, or for the end of the idle time.
    private func sleep() {
        let rest = idleSince.map { engine.idleLimit - (.now - $0) }
        if let rest, rest <= .zero {
            ness_curl_enter()
            defer { ness_curl_leave() }
            return closeConnections()
        }
        ness_curl_multi_wait(multi, Int32(min(rest ?? .seconds(60), .seconds(60)) / .milliseconds(1)) + 1)
    }

    /// Closes the connections, all of which are idle. Otherwise connections that servers have closed would remain until the next exchange.
    private func closeConnections() {
        // If no other handle can be made, the next try is after another idle time.
        guard let new = engine.renewHandle() else { return idleSince = .now }
        handle = new
        connections = CurlConnections()
        (use, http1Origins) = (CurlConnectionUse(), [])
        // A used easy handle has lost its host entries: libcurl has moved them into the name cache of the old multi handle.
        templates = []
        idleSince = nil
        if connectionLimit > 0 { setConnectionLimit(connectionLimit) }
    }

    /// Stops or resumes the wait for a socket's input.
    func mute(_ descriptor: Int32, _ isMuted: Bool) { ness_curl_multi_mute(multi, descriptor, isMuted) }

    /// Has a transfer's events handed on at the end of the turn.
    func scheduleHandOn(of transfer: CurlTransfer) { withEvents.append(transfer) }

    /// Returns a closure that resumes a transfer, from any thread.
    func waker(for exchange: CurlExchange) -> @Sendable () -> Void {
        { [engine] in engine.post(.resume(exchange)) }
    }

    private func perform(_ command: CurlEngine.Command) {
        switch command {
        case .start(let exchange): start(exchange)
        case .resume(let exchange):
            guard let transfer = exchange.transfer else { return }
            transfer.resume()
            finishIfDelivered(transfer)
        case .cancel(let exchange):
            guard let transfer = exchange.transfer else { return }
            retireIfSilent(transfer)
            forget(transfer)
            exchange.mailbox.cancel(CancellationError())
        case .found(let exchange, let name, let result):
            guard let transfer = exchange.transfer else { return }
            transfer.names.lookUp = nil
            addAgain(transfer, with: result, of: name)
        }
    }

    /// Retires the connection of a canceled transfer if no byte has arrived on it. The connection is closed when its other transfers have
    /// ended.
    private func retireIfSilent(_ transfer: CurlTransfer) {
        let hasTimedOut = (transfer.exchange.mailbox.failure as? NessError)?.kind == .timedOut
        guard let connection = transfer.connection, transfer.isConnectionSilent(hasTimedOut: hasTimedOut) else { return }
        use.retire(connection)
    }

    // MARK: names

    /// Looks up the name that libcurl needs for a transfer, and adds the transfer again.
    private func lookUp(for transfer: CurlTransfer, _ code: Int32) {
        guard let name = transfer.nameToLookUp(code) else { return add(transfer) }
        if let addresses = name.knownAddresses { return addAgain(transfer, with: .success(addresses), of: name) }
        let exchange = transfer.exchange
        let ticket = settings.resolver.lookUp(name.host) { [engine] in engine.post(.found(exchange, name, $0)) }
        transfer.names.lookUp = (ticket, .now)
    }

    private func addAgain(_ transfer: CurlTransfer, with result: Result<[String], NameResolver.Failure>, of name: CurlNames.Name) {
        switch result {
        case .success(let addresses): add(transfer) { try transfer.setAddresses(addresses, of: name) }
        case .failure(let failure):
            let kind = name == settings.proxyName(for: transfer.exchange.origin.scheme) ? "proxy" : "host"
            transfer.fail("Could not resolve \(kind): \(name.host) (\(failure.reason))")
            finishIfDelivered(transfer)
        }
    }

    // MARK: starting

    private func start(_ exchange: CurlExchange) {
        guard !exchange.mailbox.hasEnded else { return engine.didRelease(exchange) }
        // The exchange occupies the host's slot until libcurl no longer uses the connection for it.
        guard exchange.control?.occupySlot() ?? true else {
            engine.didRelease(exchange)
            return exchange.mailbox.cancel(CancellationError())
        }
        let transfer: CurlTransfer
        do {
            transfer = try makeTransfer(for: exchange)
        } catch {
            releaseSlots(of: exchange)
            return exchange.mailbox.end(error)
        }
        transfer.place = transfers.count
        transfers.append(transfer)
        exchange.transfer = transfer
        idleSince = nil
        keepConnections(for: transfers.count)
        add(transfer)
    }

    private func makeTransfer(for exchange: CurlExchange) throws -> CurlTransfer {
        let template = try template(for: exchange.request.tlsDemands)
        if let used = template.takeSpare(for: exchange.shape) {
            let transfer = CurlTransfer(exchange, used, of: template, in: self)
            // If a used handle rejects an option, a new handle is made. No request fails because its handle was used before.
            if (try? transfer.configure()) != nil { return transfer }
        }
        let transfer = CurlTransfer(exchange, try template.make(exchange.kind(settings)), of: template, in: self)
        try transfer.configure()
        return transfer
    }

    private func template(for demands: TLSDemands?) throws -> CurlTemplate {
        if let last = templates.last, last.demands == demands { return last }
        let known = templates.firstIndex { $0.demands == demands }
        let template = try known.map { templates.remove(at: $0) } ?? CurlTemplate(settings, demands)
        if templates.count == Self.templateLimit { templates.removeFirst() }
        templates.append(template)
        return template
    }

    /// Has libcurl start a transfer. If libcurl rejects it, ends the exchange, because nothing else would.
    /// - Parameter change: Sets further options of the handle first.
    private func add(_ transfer: CurlTransfer, after change: () throws -> Void = {}) {
        do {
            try change()
            let code = ness_curl_multi_add(multi, transfer.easy)
            transfer.isAttached = code == 0
            if code != 0 { transfer.fail("libcurl rejected the transfer (\(code))") }
        } catch {
            transfer.fail((error as? TransportError)?.reason ?? "\(error)")
        }
        if !transfer.isAttached { finishIfDelivered(transfer) }
    }

    /// Takes a handle from libcurl. Options may be set only then: to change them during a transfer has no defined effect
    /// (curl_easy_setopt).
    private func removeFromMulti(_ transfer: CurlTransfer) {
        guard transfer.isAttached else { return }
        transfer.isAttached = false
        ness_curl_multi_remove(multi, transfer.easy)
    }

    /// Raises the number of idle connections that libcurl keeps. With fewer than there are transfers, it would close connections that the
    /// next transfer could use.
    private func keepConnections(for count: Int) {
        guard count > connectionLimit else { return }
        setConnectionLimit(max(128, 2 * count))
    }

    private func setConnectionLimit(_ limit: Int) {
        connectionLimit = limit
        ness_curl_multi_set_long(multi, CurlMultiOption.idleConnectionLimit, limit)
    }

    // MARK: ending

    /// Handles the transfers that libcurl has ended: some need a look-up or another start, the others are finished.
    private func finishEnded() {
        var code: Int32 = 0
        while let easy = ness_curl_multi_next_ended(multi, &code) {
            guard let user = ness_curl_get_user(easy) else { continue }
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(user).takeUnretainedValue()
            if transfer.names.isNeeded {
                removeFromMulti(transfer)
                lookUp(for: transfer, code)
                continue
            }
            if transfer.restarts(after: code) {
                removeFromMulti(transfer)
                add(transfer) { try transfer.prepareRestart() }
                continue
            }
            transfer.end(code)
            releaseHandle(of: transfer)
            finishIfDelivered(transfer)
        }
    }

    /// Ends the exchange of a transfer that has ended, once its mailbox has had room for the whole body.
    private func finishIfDelivered(_ transfer: CurlTransfer) {
        guard transfer.isDelivered else { return }
        transfer.finish()
        forget(transfer)
    }

    /// Removes a transfer from the loop, and releases its handle if that has not happened yet.
    private func forget(_ transfer: CurlTransfer) {
        releaseHandle(of: transfer)
        if let place = transfer.place, let last = transfers.popLast(), last !== transfer {
            transfers[place] = last
            last.place = place
        }
        transfer.place = nil
        transfer.exchange.transfer = nil
        if transfers.isEmpty { idleSince = .now }
    }

    /// Releases a transfer's handle, connection and slots, which other transfers then use.
    private func releaseHandle(of transfer: CurlTransfer) {
        // After this step the handle may belong to another transfer.
        guard !transfer.isReleased else { return }
        transfer.isReleased = true
        if let ticket = transfer.names.lookUp?.ticket { settings.resolver.leave(ticket) }
        transfer.endRetiredConnection()
        removeFromMulti(transfer)
        transfer.release()
        releaseSlots(of: transfer.exchange)
        transfer.giveBackHandle()
    }

    /// Frees the slots of an exchange that no longer uses a connection: the engine's and the host's.
    private func releaseSlots(of exchange: CurlExchange) {
        // The engine's slot is first, because freeing the host's admits the next exchange.
        engine.didRelease(exchange)
        exchange.control?.releaseSlot()
    }

    /// Hands events on once a turn: a small response is one batch, which wakes the caller's task once.
    private func handOn() {
        let transfers = withEvents
        withEvents.removeAll(keepingCapacity: true)
        for transfer in transfers { transfer.handOn() }
    }

    /// Cancels all exchanges and closes the engine.
    private func close() {
        for transfer in transfers {
            transfer.exchange.mailbox.cancel(CancellationError())
            forget(transfer)
        }
        // Their release uses OpenSSL, which the end of the process may clean up as soon as the engine is closed.
        (withEvents, templates) = ([], [])
        engine.close()
    }
}
#endif
