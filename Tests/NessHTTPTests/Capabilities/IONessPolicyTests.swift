import Dispatch
import Foundation
import NessHTTP
import NessTesting
import Testing

/// iONess's retry controls and duplicate handlers, by their numbers in the inventory.
@Suite("iONess: retries and duplicates", .inTurn)
struct IONessPolicyTests {
    @Test(
        "a control gets request, response and error, and decides asynchronously on no retry, one now or one after a delay",
        .covers("ION-24"))
    func answers() async throws {
        let rig = Rig(), seen = Log<String>()
        rig.mock.on(.get, "/x", replies: [.failure(.connectionLost), .status(503), .status(500), .status(200)])
        let control = ClosureRetryControl { request, response, error, decide in
            let kind = (error as? NessError)?.kind.rawValue ?? "-"
            seen.add("\(request.url.path) \(response?.statusCode ?? 0) \(kind)")
            DispatchQueue(label: "later").async {
                decide(response == nil ? .retry : response?.statusCode == 503 ? .retryAfter(7) : .noRetry)
            }
        }
        let result = try await rig.ness.httpRequest(withUrl: "x").dataRequest(with: control).value
        #expect(result.message.statusCode == 500)
        #expect(seen.entries == ["/x 0 connectionLost", "/x 503 -", "/x 500 -"])
        #expect(rig.clock.sleeps == [.seconds(7)])
    }

    @Test(
        "a control is asked about failures and refusals of every method, never about a drop", .covers("ION-25"),
        arguments: [HTTPMethod.get, .post, .put, .patch, .delete, .custom("PURGE")])
    func asked(method: HTTPMethod) async throws {
        let rig = Rig(), control = AskedControl(Eager()), arrived = TestGate()
        rig.mock.on(method, "/x", replies: [.failure(.connectionLost), .status(404), .status(200)])
        let builder = rig.ness.httpRequest(method, withUrl: "x").validate(statusCode: 200)
        #expect(try await builder.dataRequest(with: control).value.message.statusCode == 200)
        #expect(control.asked.entries.map { ($0.error as? NessError)?.kind } == [.connectionLost, .validation])
        rig.mock.on(method, "/x") { _ in
            arrived.open()
            await TestGate().wait()
            return .status(200)
        }
        let dropped = builder.dataRequest(with: control)
        await arrived.wait()
        dropped.drop()
        #expect(await dropped.nessError()?.kind == .dropped)
        await rig.ness.reset()
        #expect(control.asked.entries.count == 2 && rig.mock.requests.count == 4)
    }

    @Test("a new attempt is compared again, and joins an equal request in flight", .covers("ION-27"))
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
        "a handler is asked for each kind, and gets the request and the number of waiting callers", .covers("ION-29"),
        arguments: RequestKind.comparable)
    func kinds(kind: RequestKind) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file"), handler = CountingHandler(.useBothCompletion), go = TestGate()
            try Data("file".utf8).write(to: file)
            let rig = Rig { $0.duplicatedHandler = handler }
            rig.mock.on(.put, "/x") { _ in
                await go.wait()
                return .text("one")
            }
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

extension RequestKind {
    /// The kinds of requests of which two can be equal.
    fileprivate static var comparable: [RequestKind] { [.data, .upload, .download] }
}
