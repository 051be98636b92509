import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Handlers of duplicates: the requests they are asked about, and the requests that share an exchange.
@Suite(.inTurn) struct DuplicateHandlerTests {
    @Test("a manager takes a usual policy or a handler, which can be replaced; it sees only its own requests")
    func duplicatePolicies() async throws {
        let go = TestGate()
        try await serving { _ in
            await go.wait()
            return .text("a")
        } _: { server in
            let ness = Ness(onDuplicated: .keepFirstCompletion), other = Ness(onDuplicated: .keepFirstCompletion)
            func call(_ ness: Ness) -> DataPromise { ness.post(server.url).dataRequest() }
            let first = call(ness)
            await server.waitUntil { $0.requestCount == 1 }
            #expect(await call(ness).nessError()?.kind == .duplicate)
            let elsewhere = call(other)
            await server.waitUntil { $0.requestCount == 2 }
            let handler = CountingHandler(.requestSeparately)
            ness.duplicatedHandler = handler
            let separate = call(ness)
            await server.waitUntil { $0.requestCount == 3 }
            #expect(handler.tally.total == 1)
            go.open()
            let results = try await Promise.all([first, elsewhere, separate]).value
            #expect(results.map(\.message.text) == ["a", "a", "a"])
        }
    }

    @Test("requests are compared after the delegate has changed them")
    func duplicatesAfterTheDelegate() async throws {
        final class Delegate: NetworkSessionManagerDelegate {
            func ness(_ manager: Ness, willRequest request: HTTPRequest) -> HTTPRequest {
                var request = request
                request.url = URL(string: "https://mock.test/same") ?? request.url
                return request
            }
        }
        let handler = CountingHandler(), gate = TestGate(), delegate = Delegate()
        let rig = Rig { $0.duplicatedHandler = handler }
        rig.ness.delegate = delegate
        rig.mock.on(.get, "/same", after: gate) { _ in .text("shared") }
        let first = rig.ness.httpRequest(withUrl: "a").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.httpRequest(withUrl: "b").dataRequest()
        await handler.tally.wait(for: 1)
        gate.open()
        #expect(try await Promise.all([first, second]).value.map(\.message.text) == ["shared", "shared"])
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a new attempt is compared again, and joins an equal request in flight")
    func retriesAreCompared() async throws {
        let rig = Rig(advances: false) { $0.duplicatedHandler = CountingHandler() }, go = TestGate(), tally = Tally()
        rig.mock.on(.get, "/x") { _ in
            if tally.enter() == 0 { return .status(503) }
            await go.wait()
            return .text("shared")
        }
        let control = CounterRetryControl(maxRetryCount: 1, timeIntervalBeforeTryToRetry: 60)
        let first = rig.ness.httpRequest(withUrl: "x").dataRequest(with: control)
        await rig.clock.waitUntil { $0.sleeps.contains(.seconds(60)) }
        let second = rig.ness.httpRequest(withUrl: "x").set(timeout: .seconds(1_000)).dataRequest()
        await tally.wait(for: 2)
        rig.clock.advance(by: .seconds(60))
        let handler = try #require(rig.ness.duplicatedHandler as? CountingHandler)
        await handler.tally.wait(for: 1)
        go.open()
        #expect(try await Promise.all([first, second]).value.map(\.message.text) == ["shared", "shared"])
        #expect(rig.mock.requests.count == 2)
    }

    @Test(
        "a handler decides for each kind, and receives the request and the number of waiting callers",
        arguments: [RequestKind.data, .upload, .download])
    func kinds(kind: RequestKind) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file"), handler = CountingHandler(.useBothCompletion), go = TestGate()
            try Data("file".utf8).write(to: file)
            let rig = Rig { $0.duplicatedHandler = handler }
            rig.mock.on(.put, "/x", after: go) { _ in .text("one") }
            let builder = rig.ness.httpRequest(.put, withUrl: "x")
            func call() -> Promise<HTTPResponse> {
                switch kind {
                case .upload: builder.uploadRequest(forFileLocation: file).then { $0.message }
                case .download: builder.downloadRequest(forSavedLocation: folder.appendingPathComponent("saved")).then { $0.message }
                default: builder.dataRequest().then { $0.message }
                }
            }
            let first = call()
            await rig.mock.waitUntil { $0.requests.count == 1 }
            let second = call()
            await handler.tally.wait(for: 1)
            go.open()
            #expect(try await Promise.all([first, second]).value.map(\.statusCode) == [200, 200])
            #expect(rig.mock.requests.count == 1)
            #expect(handler.asked.entries.map(\.kind) == [kind] && handler.asked.entries.map(\.callerCount) == [1])
            #expect(handler.asked.entries.first?.request.method == .put)
        }
    }
}
