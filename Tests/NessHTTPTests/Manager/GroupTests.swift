import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite("Dropping all, and groups", .inTurn(.withoutSockets))
struct GroupTests {
    private let rig = Rig()
    private let gate = TestGate()

    init() {
        let gate = gate
        rig.mock.on(.get, "/*any") { _ in
            await gate.wait()
            return .text("\"x\"")
        }
    }

    @Test("dropAllRequests drops the requests in flight, and the manager can send others")
    func dropAllRequests() async throws {
        let promises = (0..<3).map { rig.ness.httpRequest(withUrl: "\($0)").dataRequest() }
        let typed = rig.ness.httpRequest(withUrl: "typed").dataRequest(decoding: String.self)
        await rig.mock.waitUntil { $0.requests.count == 4 }
        rig.ness.dropAllRequests()
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        #expect(await typed.nessError()?.kind == .dropped)
        gate.open()
        #expect(try await rig.ness.httpRequest(withUrl: "next").dataRequest().value.message.statusCode == 200)
        rig.ness.dropAllRequests()
        #expect(try await rig.ness.httpRequest(withUrl: "next").dataRequest().value.message.statusCode == 200)
    }

    @Test("dropping a group leaves the other requests alone") func aGroupIsDroppedAlone() async throws {
        let request = { (path: String) in rig.ness.httpRequest(withUrl: path) }
        let screen = request("a").add(group: "screen").dataRequest()
        let both = request("b").add(group: "list").add(group: "screen").dataRequest(decoding: String.self)
        let list = request("c").add(group: "list").dataRequest()
        let none = request("d").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 4 }
        rig.ness.dropAllRequests(in: "nobody")
        rig.ness.dropAllRequests(in: "screen")
        #expect(await screen.nessError()?.kind == .dropped)
        #expect(await both.nessError()?.kind == .dropped)
        #expect(!list.isCompleted && !none.isCompleted)
        gate.open()
        #expect(try await list.value.message.statusCode == 200)
        #expect(try await none.value.message.statusCode == 200)
        #expect(try await request("e").add(group: "screen").dataRequest().value.message.statusCode == 200)
    }

    @Test("dropping a group leaves a shared exchange to the callers of another group")
    func aSharedExchangeGoesOnForTheOtherGroup() async throws {
        let handler = CountingHandler(), gate = gate, sent = Tally()
        let ness = Ness {
            $0.duplicatedHandler = handler
            $0.transport = FakeTransport { _, receive in
                sent.enter()
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "2"]))
                try await receive(.body(Data("a".utf8)))
                await gate.wait()
                try await receive(.body(Data("b".utf8)))
            }
        }
        let one = ness.httpRequest(withUrl: "http://x/").add(group: "one").dataRequest()
        let other = ness.httpRequest(withUrl: "http://x/").add(group: "other").dataRequest()
        // Both callers have joined the exchange. The handler may be asked before a caller joins, but only a joined caller gets progress.
        for promise in [one, other] {
            let hears = TestGate()
            promise.onProgress { if $0.completedBytes == 1 { hears.open() } }
            await hears.wait()
        }
        #expect(handler.tally.total == 1)
        ness.dropAllRequests(in: "one")
        #expect(await one.nessError()?.kind == .dropped)
        gate.open()
        #expect(try await other.value.message.text == "ab")
        #expect(sent.total == 1)
    }
}
