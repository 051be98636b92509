import Foundation
import NessHTTP

extension TransportConformance {
    /// One check for each entry of the catalog, with a GET and a POST.
    static let misbehaviorChecks: [Check] = Misbehavior.all.map { misbehavior in
        Group.misbehavior.check(misbehavior.name, "\(misbehavior.summary) The outcome is \(misbehavior.outcome.text).") { context in
            for (method, body) in methods { try await run(misbehavior, method, body, in: context) }
        }
    }

    /// Ends an exchange whose body is too long, as the pipeline does.
    private struct TooLarge: Error {}

    /// The largest body, in bytes.
    private static let largest = 8 << 20

    private static func run(_ misbehavior: Misbehavior, _ method: HTTPMethod, _ body: HTTPBody?, in context: CheckContext) async throws {
        let isStalled = TestGate(), isQuiet = TestGate()
        let server = try await context.serve(script: { connection in
            let steps = misbehavior.steps(connection)
            // The server has sent everything that the next request must find.
            let quiet = steps.indices.first { $0 > 0 && !steps[$0].isSending } ?? steps.endIndex
            return steps.indices.flatMap { index -> [ConnectionStep] in
                let start = index == quiet ? [ConnectionStep.signal(isQuiet)] : []
                if case .stall = steps[index].action { return start + [.signal(isStalled), .stall] }
                return start + [steps[index]]
            }
        })
        var record = ExchangeRecord()
        for number in 1...misbehavior.requestCount {
            // A request that asks for compression gets the body decoded.
            let request = try context.request(method, to: server, headers: ["Accept-Encoding": "gzip, deflate"], body: body)
            let received = server.statistics.bytesReceived
            let exchange = context.start(request) { exchange, event in
                if case .body = event, exchange.record.body.count > largest { throw TooLarge() }
            }
            if case .timesOut = misbehavior.expectation, number == misbehavior.requestCount {
                await context.wait(for: isStalled, orEndOf: server)
                await server.waitUntil { $0.bytesReceived > received }
                exchange.cancel()
            }
            record = await exchange.end()
            if number < misbehavior.requestCount { await context.wait(for: isQuiet, orEndOf: server) }
        }
        let isRight = misbehavior.outcome.allows(record) || (record.error is TooLarge && misbehavior.outcome.isEndless)
        context.expect(isRight, "\(method): expected \(misbehavior.outcome.text), got \(record.summary)")
        if case .malformedResponse = misbehavior.expectation, record.transportError != nil {
            context.expect("\(method): the number of heads", record.heads.count, equals: 0)
        }
        try await context.expectWorking()
        await server.stop()
    }
}

/// The outcome of a misbehavior at the transport, below the pipeline.
private struct ExpectedOutcome: Sendable {
    var response: (statusCode: Int, body: String)?
    var kinds: [TransportError.Kind] = []
    var isCancelled = false
    /// True if only an error of `receive` ends the exchange.
    var isEndless = false

    var text: String {
        if isEndless { return "the error of `receive`, which ends an endless body" }
        var texts: [String] = []
        if let response { texts.append("\(response.statusCode) with \(response.body.prefix(20).debugDescription)") }
        if kinds.count == TransportError.Kind.allCases.count {
            texts.append("a TransportError")
        } else {
            texts += kinds.map { "the error \($0)" }
        }
        if isCancelled { texts.append("silence until the exchange is canceled") }
        return texts.joined(separator: " or ")
    }

    func allows(_ record: ExchangeRecord) -> Bool {
        if isCancelled, record.isCancelled { return true }
        if isEndless { return record.transportError != nil }
        if let error = record.transportError { return kinds.contains(error.kind) }
        guard record.hasSucceeded else { return false }
        // The pipeline rejects faults that a transport cannot be required to notice.
        if let kind = record.pipelineProblem { return kinds.contains(kind) }
        return response.map { record.statusCode == $0.statusCode && record.body == Data($0.body.utf8) } ?? false
    }
}

extension Misbehavior {
    fileprivate var outcome: ExpectedOutcome {
        // A transport does not follow redirects.
        if name == "redirect-to-itself" { return ExpectedOutcome(response: (302, "")) }
        if name == "redirect-without-end" { return ExpectedOutcome(response: (307, "")) }
        switch expectation {
        case .success(let status, let body): return ExpectedOutcome(response: (status, body))
        case .successOrFailure(let status, let body):
            return ExpectedOutcome(response: (status, body), kinds: TransportError.Kind.allCases)
        // The reset may arrive before the connection counts as made.
        case .connectionLost where name == "reset-on-accept": return ExpectedOutcome(kinds: [.connectionLost, .cannotConnect])
        case .connectionLost: return ExpectedOutcome(kinds: [.connectionLost])
        // A transport may send the request on a separate connection. The server behaves well there.
        case .truncated where requestCount > 1: return ExpectedOutcome(response: (200, "hello"), kinds: [.truncated])
        case .truncated: return ExpectedOutcome(kinds: [.truncated])
        case .malformedResponse: return ExpectedOutcome(kinds: [.malformedResponse])
        case .tooLarge: return ExpectedOutcome(isEndless: true)
        case .timesOut where requestCount > 1: return ExpectedOutcome(response: (200, "hello"), isCancelled: true)
        case .timesOut: return ExpectedOutcome(isCancelled: true)
        case .anyFailure: return ExpectedOutcome(kinds: TransportError.Kind.allCases)
        }
    }
}

extension ConnectionStep {
    fileprivate var isSending: Bool { if case .send = action { true } else { false } }
}

extension ExchangeRecord {
    /// The kind of error that the pipeline makes of this response to a GET or POST, because its head or the length of its body is wrong.
    /// `nil` if it accepts the response.
    var pipelineProblem: TransportError.Kind? {
        guard let head = heads.first, heads.count == 1 else { return .malformedResponse }
        guard head.statusCode != 204, head.statusCode != 304, !head.headers.contains("Transfer-Encoding") else { return nil }
        guard let text = head.headers["Content-Length"] else { return nil }
        guard let length = HeaderFieldValue.length(text) else { return .malformedResponse }
        let isCoded = head.headers["Content-Encoding"].map { !$0.equalsIgnoringCase("identity") } ?? false
        return isCoded || length == Int64(body.count) ? nil : .truncated
    }
}
