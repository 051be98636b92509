import Foundation

/// One request on the wire.
extension Pipeline {
    /// Checks a request, waits for its places, and sends it.
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: The exchange.
    ///   - sink: Takes the response's body as it arrives; `nil` to collect it in memory.
    func exchange(_ request: HTTPRequest, _ exchange: Exchange, _ sink: (any BodySink)?) async throws -> HTTPResponse {
        let request = try OutgoingCheck.checked(request.withOneCookieField)
        let isLimited = !request[BypassesThrottle.self]
        let origin = request.origin
        // Before the queues, so that no request waits for a host with an open breaker.
        try breaker?.check(origin, in: exchange.context)
        if isLimited, let throttle { try await throttle.wait(origin) }
        let places = isLimited ? try await self.places(origin) : HopPlaces(hosts: hosts)
        let hop: Hop
        do { hop = try makeHop(origin, exchange, sink, places) } catch {
            places.leave()
            throw error
        }
        defer { hop.finish() }
        return try await send(request, hop)
    }

    /// Waits for a place at the host, and then for one among all requests.
    private func places(_ origin: ParsedURL.Origin) async throws -> HopPlaces {
        var places = HopPlaces(hosts: hosts)
        let (lane, waiter) = hosts.enter(origin)
        if let waiter { try await waiting.during(.hostQueue) { try await waiter.wait() } }
        places.host = lane
        guard let total else { return places }
        let (totalLane, totalWaiter) = total.enter(0)
        do {
            if let totalWaiter { try await waiting.during(.hostQueue) { try await totalWaiter.wait() } }
        } catch {
            places.leave()
            throw error
        }
        places.total = (total, totalLane)
        return places
    }

    @inline(never)
    private func makeHop(
        _ origin: ParsedURL.Origin, _ exchange: Exchange, _ sink: (any BodySink)?, _ places: HopPlaces
    ) throws -> Hop {
        // A request that was dropped before this point must not reach the transport.
        try Task.checkCancellation()
        let visit = try breaker?.enter(origin, in: exchange.context)
        return Hop(exchange, sink: sink, places: places, visit: visit, clock)
    }

    /// Sends a request that has its places. Repeats it once after a 408 that the server sent to an idle connection before it saw this request.
    ///
    /// A server that closes an idle connection may send a 408 first. If the client sends its next request on that connection before it sees
    /// the close, it takes the 408 for the answer. RFC 9110, section 15.5.9, lets a client repeat an idempotent request.
    private func send(_ request: HTTPRequest, _ hop: Hop) async throws -> HTTPResponse {
        let loaders = loaders(at: .exchange, hop.exchange.context)
        do {
            try hop.begin()
            var response = try await send(request, through: loaders, hop)
            if response.isStaleTimeout(of: request) { response = try await send(request, through: loaders, hop) }
            hop.visit?.end(response.statusCode >= 500 ? .failed : .worked)
            return response
        } catch {
            let explained = hop.exchange.context.explain(error)
            hop.visit?.end((explained as? NessError)?.isTransient == true ? .failed : .unknown)
            throw explained
        }
    }

    private func send(_ request: HTTPRequest, through loaders: [any HTTPLoader], _ hop: Hop) async throws -> HTTPResponse {
        // The application's code may ignore a cancellation. The callers then do not wait, but a reset does, and the host's place stays
        // occupied, until that code has ended.
        if loaders.isEmpty, wire.isStoppable(request) {
            // No code of the application is awaited below, so none can await a reset there, which would have to know this work.
            let id = try running.beginWork(hop.exchange.context.policies.epoch)
            defer { running.endWork(id) }
            return try await wire.send(request, hop, in: hop.exchange.context)
        }
        guard hop.exchange.context.policies.download != nil else {
            try hop.beginForeignCode()
            return try await sendForeign(request, through: loaders, hop)
        }
        // A download goes on after the timeout of a range, and closes its file.
        return try await AbandonableWork.run(under: hop) { [self] in
            guard hop.enterSlot() else { throw CancellationError() }
            defer { hop.leaveSlot() }
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
    fileprivate func isStaleTimeout(of request: HTTPRequest) -> Bool {
        statusCode == 408 && request.isIdempotent && request.body?.isSpent != true
            && headers[HeaderName.connection]?.equalsIgnoringCase("close") == true
    }
}
