import Foundation
import NessHTTP
import NessLock

extension TransportConformance {
    /// Cancels an exchange inside a call of `receive`.
    /// - Parameters:
    ///   - name: The event, for problems.
    ///   - isMoment: Returns true for the event that cancels.
    private static func cancelInside(
        _ name: String, _ server: TestServer, _ request: HTTPRequest, in context: CheckContext,
        when isMoment: @escaping @Sendable (TransportEvent) -> Bool
    ) async {
        let isCancelled = TestGate(), laterEvents = Lock(0)
        let exchange = context.start(request) { exchange, event in
            if isCancelled.isOpen { laterEvents.withLock { $0 += 1 } }
            guard !isCancelled.isOpen, isMoment(event) else { return }
            exchange.cancel()
            isCancelled.open()
        }
        let record = await exchange.end()
        context.expectCancelled(name, record)
        context.expect("the number of events after \(name)", laterEvents.withLock { $0 }, equals: 0)
        await context.untilIdle(server)
    }

    /// Cancels a hundred exchanges, each at its moment, and expects the whole response of each or a cancellation.
    private static func cancelRepeatedly(
        _ server: TestServer, in context: CheckContext, _ make: (_ round: Int) throws -> (HTTPRequest, response: Data),
        at moment: (CheckedExchange, _ round: Int) async -> Void
    ) async throws {
        for round in 0..<100 {
            let (request, response) = try make(round)
            let exchange = context.start(request)
            await moment(exchange, round)
            exchange.cancel()
            let record = await exchange.end()
            if !record.isCancelled { context.expect("round \(round)", record, gives: 200, response) }
        }
        await context.untilIdle(server)
        try await context.expectWorking()
    }

    /// Cancellation together with other events.
    static let cancelRaceChecks: [Check] = [
        Group.cancel.check("inside-receive", "A cancellation inside `receive` ends the exchange, and no further event follows.") {
            context in
            try await atEachEvent(in: context) { await cancelInside($0, $1, $2, in: context, when: $3) }
            try await context.expectWorking()
        },
        Group.cancel.check("during-receive", "A cancellation while `receive` runs ends the exchange after that call at the latest.") {
            context in
            let hold = context.makeHold()
            let server = try await context.serve(script: { _ in half })
            let exchange = context.start(try context.request(to: server)) { _, event in
                if case .body = event { try await hold.wait() }
            }
            await hold.entered.wait()
            exchange.cancel()
            hold.release()
            let record = await exchange.end()
            context.expectCancelled("the end", record)
            context.expect("the number of pieces", record.pieceCount, equals: 1)
            await context.untilIdle(server)
            try await context.expectWorking()
        },
        Group.cancel.check("at-the-end", "A cancellation at the last byte gives the whole response or CancellationError.") { context in
            let server = try await context.serve { .text($0.target) }
            try await cancelRepeatedly(server, in: context) {
                (try context.request(to: server, "/\($0)"), Data("/\($0)".utf8))
            } at: {
                exchange, _ in
                await exchange.wait { !$0.body.isEmpty }
            }
        },
        Group.cancel.check("at-any-moment", "A cancellation at any moment gives the whole response or CancellationError.") { context in
            let content = conformanceData(300_000)
            let server = try await context.serve { $0.path == "/large" ? .data(content) : .data($0.body) }
            try await cancelRepeatedly(server, in: context) { round in
                if round.isMultiple(of: 2) { return (try context.request(to: server, "/large"), content) }
                let echo = conformanceData(round * 1_000)
                return (try context.request(.post, to: server, "/echo", body: HTTPBody(echo)), echo)
            } at: { _, round in
                // The number of steps until the cancellation, not a duration: any number is right.
                for _ in 0..<(round * 7 % 61) { await Task.yield() }
            }
        },
        Group.cancel.check("others", "A cancellation ends no other exchange.") { context in
            let goOn = TestGate()
            let server = try await context.serve { request in
                await goOn.wait()
                return .text(request.target)
            }
            let exchanges = try (0..<16).map { context.start(try context.request(to: server, "/\($0)")) }
            await server.waitUntil { $0.requestCount == 16 }
            for (number, exchange) in exchanges.enumerated() where number.isMultiple(of: 2) { exchange.cancel() }
            for (number, exchange) in exchanges.enumerated() where number.isMultiple(of: 2) {
                context.expectCancelled("exchange \(number)", await exchange.end())
            }
            goOn.open()
            for (number, exchange) in exchanges.enumerated() where !number.isMultiple(of: 2) {
                context.expect("exchange \(number)", await exchange.end(), gives: 200, "/\(number)")
            }
        },
    ]
}
