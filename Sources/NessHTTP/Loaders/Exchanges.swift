import Foundation

/// One request on the wire.
extension Pipeline {
    /// Checks a request, waits for its slots, and sends it.
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: The exchange.
    ///   - sink: Takes the response's body as it arrives; `nil` to collect it in memory.
    ///   - bytesBefore: The number of bytes in the bodies of the redirects that led to the request.
    func exchange(
        _ request: HTTPRequest, _ exchange: Exchange, _ sink: (any BodySink)?, bytesBefore: Int
    ) async throws -> HTTPResponse {
        let request = try checked(request, for: exchange)
        let hop = Hop(
            exchange, sink: sink, bytesBefore: bytesBefore, jar: sink == nil || request[BypassesCookies.self] ? nil : jar, hosts, total,
            clock)
        defer { hop.finish() }
        if let waiter = hop.waitForHostSlot(request) { try await wait(waiter, .hostQueue, hop) }
        if let waiter = hop.waitForManagerSlot(request) { try await wait(waiter, .hostQueue, hop) }
        // Last, so that requests whose tokens came while they waited for a slot do not start together.
        if let waiter = try throttle?.enter(request) { try await wait(waiter, .throttle, hop) }
        do {
            if let sink { try await sink.willSend() }
            try begin(hop, request)
            var response = try await send(request, hop)
            if response.isStaleTimeout(of: request) {
                try hop.beginAgain()
                response = try await send(request, hop)
            }
            hop.reportToBreaker(response.statusCode >= 500 ? .failed : .worked)
            return response
        } catch {
            throw hop.explain(error)
        }
    }

    private func wait(_ waiter: Waiter, _ line: WaitingLine, _ hop: Hop) async throws {
        let wait = { [waiting] in
            do { try await waiting.during(line) { try await waiter.wait() } } catch {
                if line == .hostQueue { hop.forgetSlot() }
                throw error
            }
        }
        if let sink = hop.sink { try await sink.during(wait: wait) } else { try await wait() }
    }

    // Synchronous steps are functions that are not inlined. The async frame of the caller, which a waiting request keeps, would otherwise
    // have room for their variables.
    @inline(never)
    private func checked(_ request: HTTPRequest, for exchange: Exchange) throws -> HTTPRequest {
        let request = try OutgoingCheck.checked(request.withOneCookieField)
        // Before the queues, so that no request waits for a host with an open breaker.
        try breaker?.check(request.origin, in: exchange.context)
        return request
    }

    @inline(never)
    private func begin(_ hop: Hop, _ request: HTTPRequest) throws {
        // A request that was dropped before this point must not reach the transport.
        try Task.checkCancellation()
        try hop.begin(breaker?.enter(request.origin, in: hop.exchange.context))
    }

    private func send(_ request: HTTPRequest, _ hop: Hop) async throws -> HTTPResponse {
        let loaders = loaders(at: .exchange, hop.exchange.context)
        // The application's code may ignore a cancellation. The callers then do not wait, but a reset does, and the host's slot stays
        // occupied, until that code has ended.
        if loaders.isEmpty, wire.isStoppable(request, in: hop.exchange.context) {
            // No code of the application is awaited below, so none can await a reset there, which would have to know this work.
            let id = try running.beginWork(hop.exchange.context.policies.epoch)
            defer { running.endWork(id) }
            return try await wire.send(request, hop, in: hop.exchange.context)
        }
        guard hop.exchange.context.policies.download != nil else {
            try hop.beginForeignCode()
            return try await sendForeign(request, through: loaders, hop)
        }
        // After the timeout of a range the download continues: it closes its file, and may fetch the range again.
        return try await AbandonableWork.run(stoppedBy: hop.onStop) { [self] in
            guard hop.occupySlot() else { throw CancellationError() }
            defer { hop.releaseSlot() }
            return try await sendForeign(request, through: loaders, hop)
        }
    }

    private func sendForeign(_ request: HTTPRequest, through loaders: [any HTTPLoader], _ hop: Hop) async throws -> HTTPResponse {
        try await running.work(hop.exchange.context.policies.epoch) {
            if loaders.isEmpty { return try await wire.send(request, hop, in: hop.exchange.context) }
            return try await loaders.load(request, in: hop.exchange.context) { [self] request, context in
                // What a loader has changed is checked like any other request.
                try await wire.send(OutgoingCheck.checked(request.withOneCookieField), hop, in: context)
            }
        }
    }
}

extension HTTPResponse {
    /// True for a 408 that the server sent to an idle connection before it saw the request.
    ///
    /// A server that closes an idle connection may send a 408 first. If the client sends its next request on that connection before it sees
    /// the close, it takes the 408 for the response. RFC 9110, section 15.5.9, lets a client repeat an idempotent request.
    fileprivate func isStaleTimeout(of request: HTTPRequest) -> Bool {
        statusCode == 408 && request.isIdempotent && request.body?.isSpent != true
            && headers[HeaderName.connection]?.equalsIgnoringCase("close") == true
    }
}
