import Foundation
import NessHTTP
import NessTesting
import Testing

/// FlexNetworking's capabilities of transfers and of its lower levels, by their numbers in the inventory.
@Suite(.inTurn) struct FlexNetworkingTransferTests {
    @Test("FLX-23: the bytes are passed on as they arrive, for the accepted statuses; an error ends them")
    func pieces() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.chunked([Data("ab".utf8), Data("cd".utf8)]), .text("page", status: 404)])
        let wanted = rig.ness.httpRequest(withUrl: "x").validate(statusCodes: 200..<400)
        let seen = Log<Data>()
        for try await piece in wanted.streamRequest().chunks { seen.add(piece) }
        #expect(seen.entries.reduce(Data(), +) == Data("abcd".utf8))
        let refused = await #expect(throws: NessError.self) {
            for try await piece in wanted.streamRequest().chunks { seen.add(piece) }
        }
        #expect(refused?.kind == .validation && refused?.response?.statusCode == 404)
        let broken = Ness {
            $0.transport = FakeTransport { _, receive in
                try receive(.head(statusCode: 200, headers: [:]))
                try receive(.body(Data("ef".utf8)))
                throw TransportError.connectionLost
            }
        }
        let lost = await #expect(throws: NessError.self) {
            for try await piece in broken.httpRequest(withUrl: "http://x").streamRequest().chunks { seen.add(piece) }
        }
        #expect(lost?.kind == .connectionLost)
        #expect(seen.entries.reduce(Data(), +) == Data("abcdef".utf8))
    }

    @Test("FLX-24: progress is a fraction of the length, `nil` without one, for any status, also for a hook's request")
    func progress() async throws {
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
            (.chunked([Data("12345".utf8)]), TransferProgress(completedBytes: 5), nil),
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

    /// An object that a request holds. It opens a gate when the last reference to it is released.
    private struct Held: ResponseValidator {
        final class Token: Sendable {
            let gone: TestGate
            init(_ gone: TestGate) { self.gone = gone }
            deinit { gone.open() }
        }
        let token: Token
        func validate(for response: HTTPResponse) -> ResponseValidatorResult { .valid }
    }

    @Test(
        "FLX-26: a request that has ended releases all its objects, for every kind of end", arguments: ["whole", "lost", "cut", "dropped"],
        ["data", "stream", "download"])
    func nothingIsKept(end: String, kind: String) async throws {
        let gone = TestGate(), reached = TestGate()
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                try receive(.head(statusCode: 200, headers: ["Content-Length": "4"]))
                try receive(.body(Data("ab".utf8)))
                reached.open()
                if end == "dropped" { await TestGate().wait() }
                if end == "lost" { throw TransportError.connectionLost }
                if end == "whole" { try receive(.body(Data("cd".utf8))) }
            }
        }
        func run(_ folder: URL) async {
            let held = Held(token: Held.Token(gone))
            let builder = ness.httpRequest(withUrl: "http://x").validate(using: held)
            func finish<Value>(_ promise: RequestPromise<Value>) async {
                promise.onProgress { _ in _ = held }
                promise.finally { _, _ in _ = held }
                await reached.wait()
                if end == "dropped" { promise.drop() }
                #expect(await Promise.allSettled([promise]).count == 1)
                // The loop reads the stream to its end, because releasing an unread stream drops it.
                if end != "dropped", let promise = promise as? StreamPromise { do { for try await _ in promise.chunks {} } catch {} }
            }
            switch kind {
            case "data": await finish(builder.dataRequest())
            case "stream": await finish(builder.streamRequest())
            default: await finish(builder.downloadRequest(forSavedLocation: folder.appendingPathComponent("x")))
            }
        }
        try await withFolder { folder in
            await run(folder)
            // If anything keeps the object, this test waits here.
            await gone.wait()
        }
        #expect(ness.configuration.maximumConnectionsPerHost == 6)
    }

    @Test("FLX-27: a request can be built and sent without a manager, and its events can be read")
    func belowTheManager() async throws {
        try await withServer({ .text("\($0.method) \($0.target) \($0.bodyText)", status: 201) }) { _, ness in
            let request = try ness.httpRequest(.post, withUrl: "x").set(urlParameters: ["a": 1]).set(stringBody: "b").build()
            let heads = Log<Int>(), pieces = Log<Data>()
            try await URLSessionTransport().send(request) { event in
                switch event {
                case .sent, .connection, .interim: break
                case .head(let status, _): heads.add(status)
                case .body(let data): pieces.add(data)
                }
            }
            #expect(heads.entries == [201])
            #expect(pieces.entries.reduce(Data(), +) == Data("POST /x?a=1 b".utf8))
        }
        let error = await #expect(throws: TransportError.self) {
            try await URLSessionTransport().send(HTTPRequest(url: try await refusingURL())) { _ in }
        }
        #expect(error?.kind == .cannotConnect)
    }
}
