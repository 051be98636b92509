import Foundation
import NessHTTP
import NessLock

extension TransportConformance {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"

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

    /// Cancellation together with other events.
    static let cancelRaceChecks: [Check] = [
        Group.cancel.check("inside-receive", "A cancellation inside `receive` ends the exchange, and no further event follows.") {
            context in
            // The server never responds, so that the exchange cannot end before the cancellation.
            let upload = try await context.serve(script: { _ in [.receiveHead, .stall] })
            let put = try context.request(.put, to: upload, body: HTTPBody(Data(count: 16 << 20)))
            await cancelInside("sent", upload, put, in: context) { if case .sent = $0 { true } else { false } }
            for name in ["head", "body"] {
                let server = try await context.serve(script: { _ in
                    [.receiveRequest, .send(ok + "Content-Length: 10\r\n\r\nhello"), .stall]
                })
                await cancelInside(name, server, try context.request(to: server), in: context) { event in
                    if case .head = event { return name == "head" }
                    if case .body = event { return name == "body" }
                    return false
                }
            }
            try await context.expectWorking()
        },
        Group.cancel.check("during-receive", "A cancellation while `receive` runs ends the exchange after that call at the latest.") {
            context in
            let hold = context.makeHold()
            let server = try await context.serve(script: { _ in [.receiveRequest, .send(ok + "Content-Length: 10\r\n\r\nhello"), .stall] })
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
            for round in 0..<100 {
                let exchange = context.start(try context.request(to: server, "/\(round)"))
                await exchange.wait { !$0.body.isEmpty }
                exchange.cancel()
                let record = await exchange.end()
                if !record.isCancelled { context.expect("round \(round)", record, gives: 200, "/\(round)") }
            }
            await context.untilIdle(server)
            try await context.expectWorking()
        },
        Group.cancel.check("at-any-moment", "A cancellation at any moment gives the whole response or CancellationError.") { context in
            let content = conformanceData(300_000)
            let server = try await context.serve { $0.path == "/large" ? .data(content) : .data($0.body) }
            for round in 0..<100 {
                let isLarge = round.isMultiple(of: 2)
                let expected = isLarge ? content : conformanceData(round * 1_000)
                let exchange = context.start(
                    isLarge
                        ? try context.request(to: server, "/large")
                        : try context.request(.post, to: server, "/echo", body: HTTPBody(expected)))
                // The number of steps until the cancellation, not a duration: any number is right.
                for _ in 0..<(round * 7 % 61) { await Task.yield() }
                exchange.cancel()
                let record = await exchange.end()
                if !record.isCancelled { context.expect("round \(round)", record, gives: 200, expected) }
            }
            await context.untilIdle(server)
            try await context.expectWorking()
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
