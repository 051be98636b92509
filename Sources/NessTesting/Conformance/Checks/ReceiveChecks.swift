import Foundation
import NessHTTP

extension TransportConformance {
    /// An error of `receive`. Its identity counts.
    private final class Refusal: Error {}

    /// Lets `receive` throw at an event, and checks the end of the exchange.
    private static func refuse(
        _ name: String, _ server: TestServer, _ request: HTTPRequest, in context: CheckContext,
        when isMoment: @escaping @Sendable (TransportEvent) -> Bool
    ) async {
        let refusal = Refusal()
        let exchange = context.start(request) { _, event in
            if isMoment(event) { throw refusal }
        }
        let record = await exchange.end()
        context.expect(record.error as? Refusal === refusal, "\(name): expected the error of `receive`, got \(record.summary)")
        context.expect("the number of events after the error", record.countAfterError, equals: 0)
        await context.untilIdle(server)
    }

    /// The size of a body that no buffer holds, and the part of it that a server may send to a receiver that takes nothing, in MiB.
    private static let flood = (size: 64, limit: 24)

    /// Returns the part of a content that belongs to a target with a number. A transport reports it in several pieces.
    private static func part(of content: Data, _ target: String) -> Data {
        Data(content.dropFirst((Int(target.dropFirst()) ?? 0) * 1_000).prefix(1_200_000))
    }

    /// The calls of `receive`.
    static let receiveChecks: [Check] = [
        Group.receive.check("one-at-a-time", "`receive` is not called again before its last call has returned.") { context in
            let hold = context.makeHold(), sentMore = TestGate()
            let server = try await context.serve(script: { _ in
                [
                    .receiveRequest, .send(ok + "Content-Length: 15\r\n\r\nfirst"), .wait(hold.entered), .send("other"),
                    .signal(sentMore), .send("third"), .stall,
                ]
            })
            let exchange = context.start(try context.request(to: server)) { exchange, event in
                if case .body = event, exchange.record.pieceCount == 1 { try await hold.wait() }
            }
            await sentMore.wait()
            try await context.runOthers(20)
            hold.release()
            let record = await exchange.end()
            context.expect("the response", record, gives: 200, "firstotherthird")
            context.expect("the number of simultaneous calls", record.overlapCount, equals: 0)
        },
        Group.receive.check("error", "An error of `receive` ends the exchange, `send` throws that very error, and the connection closes.") {
            context in
            try await atEachEvent(in: context) { await refuse($0, $1, $2, in: context, when: $3) }
            let endless = try await context.serve(script: { _ in
                [.receiveRequest, .send(ok + "\r\n"), .sendUntilClosed(Data(repeating: 7, count: 1 << 16))]
            })
            await refuse("a flood", endless, try context.request(to: endless), in: context) { if case .body = $0 { true } else { false } }
            try await context.expectWorking()
        },
        Group.receive.check("error-at-the-end", "An error of `receive` fails the exchange, even for the last piece of the body.") {
            context in
            let server = try await context.serve { _ in .text("hello") }
            for round in 0..<20 {
                await refuse("round \(round)", server, try context.request(to: server), in: context) { event in
                    if case .body(let data) = event { data.last == UInt8(ascii: "o") } else { false }
                }
            }
        },
        Group.receive.check(
            "back-pressure", "While `receive` takes nothing, a server can send \(flood.limit) of \(flood.size) MiB at most."
        ) { context in
            let hold = context.makeHold()
            let sent = (0..<flood.size).map { _ in TestGate() }
            let mebibyte = conformanceData(1 << 20)
            let server = try await context.serve(script: { _ in
                [.receiveRequest, .send(ok + "Content-Length: \(flood.size << 20)\r\n\r\n")]
                    + sent.flatMap { [.sendData(mebibyte), .signal($0)] } + [.stall]
            })
            let exchange = context.start(try context.request(to: server)) { exchange, event in
                if case .body = event, exchange.record.pieceCount == 1 { try await hold.wait() }
            }
            await hold.entered.wait()
            try await context.runOthers(300)
            let count = sent.count(where: \.isOpen)
            context.expect(count <= flood.limit, "expected at most \(flood.limit) MiB, got \(count)")
            hold.release()
            let record = await exchange.end()
            context.expect("the status", record.hasSucceeded ? record.statusCode : nil, equals: 200)
            context.expect("the number of bytes", record.body.count, equals: flood.size << 20)
            context.expect("the last bytes", record.body.suffix(1 << 20) == mebibyte, equals: true)
        },
        Group.receive.check("order-under-load", "The events of 64 concurrent exchanges are in order, each in its own exchange.") {
            context in
            let content = conformanceData(1_300_000)
            let server = try await context.serve { request in
                let part = part(of: content, request.target)
                return .chunked(stride(from: 0, to: part.count, by: 10_000).map { Data(part.dropFirst($0).prefix(10_000)) })
            }
            let exchanges = try (0..<64).map { context.start(try context.request(to: server, "/\($0)")) }
            for (number, exchange) in exchanges.enumerated() {
                let record = await exchange.end()
                context.expect("exchange \(number)", record, gives: 200, part(of: content, "/\(number)"))
                context.expect("the number of simultaneous calls", record.overlapCount, equals: 0)
            }
        },
    ]
}
