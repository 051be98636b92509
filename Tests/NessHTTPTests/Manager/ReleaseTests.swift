import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Objects that managers and requests release at their end.
@Suite(.inTurn(.withoutSockets)) struct ReleaseTests {
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
        "a request that has ended releases all its objects, for every kind of end",
        arguments: ["whole", "lost", "cut", "dropped"],
        ["data", "stream", "download"])
    func nothingIsKept(end: String, kind: String) async throws {
        let gone = TestGate(), reached = TestGate()
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "4"]))
                try await receive(.body(Data("ab".utf8)))
                reached.open()
                if end == "dropped" { await TestGate().wait() }
                if end == "lost" { throw TransportError.connectionLost }
                if end == "whole" { try await receive(.body(Data("cd".utf8))) }
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
                _ = await promise.settled
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

    @Test("an observer that keeps responses to authenticated requests is freed with its manager")
    func keepingObserver() async throws {
        final class Keeper: RequestObserver {
            let freed: TestGate
            let log = Log<HTTPResponse>()
            init(_ freed: TestGate) { self.freed = freed }
            deinit { freed.open() }
            func requestDidReceive(_ response: HTTPResponse, to request: HTTPRequest) { log.add(response) }
        }
        let freed = TestGate()
        do {
            let keeper = Keeper(freed)
            let ness = Ness {
                $0.transport = FakeTransport { _, receive in try await receive(.head(statusCode: 200, headers: [:])) }
                $0.baseURL = URL(string: "https://mock.test")
                $0.authentication = BearerAuthentication(token: "t")
                $0.observers = [keeper]
            }
            _ = try await ness.get("x").response()
            #expect(keeper.log.entries.count == 1)
        }
        // If the response keeps the observer, this test waits here.
        await freed.wait()
    }

    @Test("a manager is freed after its last use") func managersAreFreed() async throws {
        let freed = TestGate()
        final class Loader: HTTPLoader {
            let freed: TestGate
            init(_ freed: TestGate) { self.freed = freed }
            deinit { freed.open() }
            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse { try await next(request) }
        }
        do {
            let ness = Ness {
                $0.transport = MockTransport(onUnmatched: .reply(.status(200)))
                $0.loaders = [Loader(freed)]
            }
            _ = try await ness.httpRequest(withUrl: "https://mock.test").dataRequest().value
        }
        await freed.wait()
    }

    @Test("a body that is streamed or saved is not kept in memory as well") func bodiesAreNotKept() async throws {
        let rig = Rig(onUnmatched: .reply(.text("content")))
        #expect(try await rig.ness.httpRequest(withUrl: "x").streamRequest().value.message.body.isEmpty)
        try await withFolder { folder in
            let result = try await rig.ness.httpRequest(withUrl: "x").downloadRequest(forSavedLocation: folder.appendingPathComponent("x"))
                .value
            #expect(result.message.body.isEmpty)
        }
    }
}
