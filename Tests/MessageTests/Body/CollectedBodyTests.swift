import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Bodies that are read into memory first, so that their length is sent.
@Suite(.inTurn) struct CollectedBodyTests {
    @Test("a sequence and a form of unknown length are sent with their Content-Length, if they are collected first")
    func lengths() async throws {
        try await withServer { server, ness in
            let content = patternedData(300_000), post = ness.post("a").set(collectsBody: true)
            _ = try await post.set(streamBody: Pieces(content.pieces(of: 1_000))).dataRequest().value
            _ = try await ness.post("a").set(multipart: { form in
                form.append("1", named: "a")
                form.append(named: "b") { .stream(Pieces([content])) }
                form.append(deferred: { $0.append("2", named: "c") })
            }).set(collectsBody: true).dataRequest().value
            for request in server.requests {
                #expect(!request.isChunked && request.headers["Content-Length"] == "\(request.body.count)")
                #expect(request.body.range(of: content) != nil)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test("a collected body is made again for each attempt; one that can be read once is sent once")
    func attempts() async throws {
        try await withServer({ _ in .status(503) }) { server, ness in
            let made = Tally()
            let put = ness.put("a").set(collectsBody: true).set(retry: CounterRetryControl(maxRetryCount: 1))
            _ = try await put.set(streamBody: { Pieces([Data("\(made.enter())".utf8)]) }).dataRequest().value
            #expect(server.requests.map(\.bodyText) == ["0", "1"])
            _ = try await put.set(streamBody: Pieces([Data("once".utf8)])).dataRequest().value
            #expect(server.requests.map(\.bodyText) == ["0", "1", "once"])
        }
    }

    @Test("a sequence that fails while it is collected fails the request before anything is sent; a drop ends the collection")
    func ends() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let post = rig.ness.post("x").set(collectsBody: true)
        let failing = Pieces { number in
            if number == 2 { throw Rejected() }
            return Data("a".utf8)
        }
        let failed = await post.set(streamBody: failing).dataRequest().nessError()
        #expect(failed?.kind == .invalidRequest && failed?.underlying is Rejected)
        let gate = TestGate(), endless = Pieces([Data("a".utf8)], then: gate)
        let promise = post.set(streamBody: endless).dataRequest()
        await endless.asked.wait(for: 2)
        promise.drop()
        await endless.cancelled.wait()
        #expect(await promise.nessError()?.kind == .dropped)
        gate.open()
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a body whose length is known is sent as it is")
    func known() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "film")
            try Data("film".utf8).write(to: file)
            let body = HTTPBody(file: file).collected()
            #expect(body == HTTPBody(file: file) && body.length == nil)
            let resolved = try await body.resolved()
            #expect(resolved.length == 4 && resolved.data == nil)
            let bytes = HTTPBody(Data("a".utf8)).collected()
            #expect(bytes.length == 1 && bytes.finish == nil)
        }
    }
}
