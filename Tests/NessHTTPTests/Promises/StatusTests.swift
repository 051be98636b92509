import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct StatusTests {
    @Test("a request is idle before its exchange, running during it, and completed with the response")
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

    @Test("the status of a failed request is an error")
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

    @Test("the fraction of a running request follows the body as it arrives, and is 0 without a total", arguments: [10, nil])
    func progress(length: Int64?) async throws {
        let half = TestGate(), rest = TestGate(), field = length.map { "Content-Length: \($0)\r\n" } ?? ""
        let steps: [ConnectionStep] = [
            .send("HTTP/1.1 200 OK\r\n\(opaque)\(field)Connection: close\r\n\r\n12345"), .wait(rest), .send("67890"),
        ]
        try await withServer({ _ in .script(steps) }, configure: { ReceiveGates(gates: [5: half]).install(in: &$0) }) { _, ness in
            let promise = ness.httpRequest(withUrl: "x").dataRequest()
            await half.wait()
            #expect(promise.progress == TransferProgress(completedBytes: 5, totalBytes: length))
            #expect(promise.progress.fractionCompleted == length.map { _ in 0.5 })
            #expect(promise.status.text == (length == nil ? "running 0.0" : "running 0.5"))
            rest.open()
            let text = try await promise.value.message.text
            #expect(text == "1234567890")
            #expect(promise.progress.fractionCompleted == 1)
        }
    }

    @Test("over a retry, a status is running, starts over, and ends once")
    func statusOverRetry() async throws {
        let rig = Rig(advances: false), seen = Log<String>(), tally = Tally()
        let gates = [TestGate(), TestGate()]
        rig.mock.on(.get, "/x") { _ in
            let number = tally.enter()
            await gates[number].wait()
            return number == 0 ? .text("half", status: 503) : .text("done")
        }
        let control = CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: 5)
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await tally.wait(for: 1)
        seen.add(promise.status.text)
        gates[0].open()
        await rig.clock.waitUntil { $0.sleeps.contains(.seconds(5)) }
        #expect(!promise.isCompleted)
        rig.clock.advance(by: .seconds(5))
        await tally.wait(for: 2)
        seen.add(promise.status.text)
        gates[1].open()
        _ = try await promise.value
        seen.add(promise.status.text)
        #expect(seen.entries == ["running 0.0", "running 0.0", "completed 200"])
    }

    @Test("progress is a fraction of the length and ends at 1, for any status, even for a hook's request")
    func progressOfEachResponse() async throws {
        let rig = Rig {
            $0.loaders = [
                .followUp { response in
                    guard response.statusCode == 202 else { return .accept }
                    return .send(HTTPRequest(url: try url("https://mock.test/done")))
                }
            ]
        }
        let cases: [(reply: Reply, last: TransferProgress, fraction: Double?)] = [
            (.text("12345"), TransferProgress(completedBytes: 5, totalBytes: 5), 1),
            (.text("no", status: 404), TransferProgress(completedBytes: 2, totalBytes: 2), 1),
            (.chunked([Data("12345".utf8)]), TransferProgress(completedBytes: 5, totalBytes: 5), 1),
            (.text("12", status: 202), TransferProgress(completedBytes: 10, totalBytes: 10), 1),
        ]
        rig.mock.on(.get, "/x", replies: cases.map(\.reply))
        rig.mock.on(.get, "/done", replies: [.text("1234567890")])
        for expected in cases {
            let told = Log<TransferProgress>()
            let promise = rig.ness.httpRequest(withUrl: "x").dataRequest().onProgress { told.add($0) }
            _ = try await promise.value
            // The sequence ends after its last value.
            for await _ in promise.progressUpdates {}
            #expect(told.entries.last?.completedBytes == expected.last.completedBytes)
            #expect(told.entries.last?.totalBytes == expected.last.totalBytes)
            #expect(promise.progress.fractionCompleted == expected.fraction)
        }
    }
}
