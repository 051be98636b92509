import Foundation
import NessHTTP
import NessTesting
import Testing

@Suite(.inTurn) struct StatusTests {
    @Test("a request is idle before its exchange, running during it, and completed with the response", .covers("ION-34", "PMH-49"))
    func life() async throws {
        let start = TestGate(), received = TestGate(), answer = TestGate()
        let hold = ClosureLoader { request, next in
            await start.wait()
            return try await next(request)
        }
        try await withServer(
            { _ in
                received.open()
                await answer.wait()
                return .text("done", status: 201)
            }, configure: { $0.loaders = [hold] }
        ) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").dataRequest()
            #expect(promise.status.text == "idle")
            #expect(promise.progress == TransferProgress())
            #expect(promise.progress.fractionCompleted == nil)
            start.open()
            await received.wait()
            #expect(promise.status.text == "running 0.0")
            #expect(!promise.isCompleted)
            answer.open()
            _ = try await promise.value
            #expect(promise.status.text == "completed 201")
            #expect(promise.isCompleted)
            #expect(promise.result?.message.text == "done")
            #expect(promise.error == nil)
        }
    }

    @Test("the status of a failed request is an error", .covers("ION-34"))
    func failure() async throws {
        let promise = Ness().httpRequest(withUrl: try await refusingURL()).dataRequest()
        #expect(await promise.nessError()?.kind == .cannotConnect)
        #expect(promise.status.text == "error")
        guard case .error(let error as NessError) = promise.status else { return #expect(Bool(false), "\(promise.status)") }
        #expect(error.kind == .cannotConnect)
        #expect((promise.error as? NessError)?.kind == .cannotConnect)
        #expect(promise.result == nil)
        // So is a request that can't be made.
        let invalid = Ness().httpRequest(withUrl: "http://[").dataRequest()
        _ = await invalid.nessError()
        #expect(invalid.status.text == "error")
    }

    @Test("a refused response is an error, not completed")
    func refused() async throws {
        try await withServer({ _ in .status(500) }) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").validate(statusCode: 200).dataRequest()
            _ = await promise.nessError()
            #expect(promise.status.text == "error")
        }
    }

    @Test("the fraction of a running request follows the body as it arrives", .covers("ION-35"))
    func progress() async throws {
        let half = TestGate(), rest = TestGate()
        let steps: [ConnectionStep] = [
            .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n12345"), .wait(rest), .send("67890"),
        ]
        try await withServer({ _ in .script(steps) }, configure: { $0.loaders = [ReceiveGates(gates: [5: half])] }) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").dataRequest()
            await half.wait()
            #expect(promise.progress == TransferProgress(completedBytes: 5, totalBytes: 10))
            #expect(promise.progress.fractionCompleted == 0.5)
            #expect(promise.status.text == "running 0.5")
            rest.open()
            let text = try await promise.value.message.text
            #expect(text == "1234567890")
            #expect(promise.progress.fractionCompleted == 1)
        }
    }

    @Test("the total is unknown if the response does not declare it")
    func unknownTotal() async throws {
        let some = TestGate(), rest = TestGate()
        let steps: [ConnectionStep] = [.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n12345"), .wait(rest), .send("6")]
        try await withServer({ _ in .script(steps) }, configure: { $0.loaders = [ReceiveGates(gates: [5: some])] }) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").dataRequest()
            await some.wait()
            #expect(promise.progress == TransferProgress(completedBytes: 5, totalBytes: nil))
            #expect(promise.status.text == "running 0.0")
            rest.open()
            let text = try await promise.value.message.text
            #expect(text == "123456")
        }
    }

    @Test("sent bytes count in the fraction, too", .covers("ION-35"))
    func sent() async throws {
        try await withServer({ _ in .text("1234") }) { _, ness in
            let promise = ness.httpRequest(.post, withUrl: "x").set(body: Data(count: 100_000)).dataRequest()
            _ = try await promise.value
            #expect(promise.progress == TransferProgress(completedBytes: 100_004, totalBytes: 100_004))
        }
    }

    static let fractions: [(Int64, Int64, Double)] = [(0, 0, 1), (0, 4, 0), (1, 4, 0.25), (4, 4, 1), (9, 4, 1)]

    @Test("the fraction stays between 0 and 1", arguments: fractions)
    func fraction(completed: Int64, total: Int64, fraction: Double) {
        #expect(TransferProgress(completedBytes: completed, totalBytes: total).fractionCompleted == fraction)
    }

    @Test("a POST is running while the server holds the answer")
    func postRunning() async throws {
        let received = TestGate(), answer = TestGate()
        try await withServer({ _ in
            received.open()
            await answer.wait()
            return .status(200)
        }) { _, ness in
            let promise = ness.httpRequest(.post, withUrl: "x").set(stringBody: "abc").dataRequest()
            await received.wait()
            #expect(promise.status.text == "running 0.0")
            answer.open()
            _ = try await promise.value
            #expect(promise.status.text == "completed 200")
        }
    }
}
