import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

@Suite("Duplicates", .inTurn)
struct DuplicateTests {

    @Test(
        "a thousand requests that differ only in priority and ignored fields are one on the wire; the last remaining caller gets the result"
    )
    func aThousandAreOne() async throws {
        let gate = TestGate(), wire = ReceiveGates()
        let rig = Rig {
            $0.headersIgnoredInDuplicates = ["x-TRACE"]
            wire.install(in: &$0)
        }
        rig.mock.on(.get, "/x", after: gate) { _ in .text("one") }
        let promises = (0..<1_000).map { number in
            rig.ness.get("x").set(header: "X-Trace", to: "\(number)").set(priority: number < 500 ? .high : .low).dataRequest()
        }
        await wire.changed.wait { promises.allSatisfy { $0.status.text.hasPrefix("running") } }
        for promise in promises.dropLast() { promise.drop() }
        gate.open()
        #expect(try await promises[999].value.message.text == "one")
        for promise in promises.dropLast() { #expect(await promise.nessError()?.kind == .dropped) }
        #expect(rig.mock.requests.count == 1)
    }

    @Test(
        "without a handler only GET, HEAD and OPTIONS share an exchange",
        arguments: [HTTPMethod.get, .head, .options, .post, .put, .delete, .patch])
    func theDefault(method: HTTPMethod) async throws {
        let gate = TestGate(), wire = ReceiveGates(), isSafe = [.get, .head, .options].contains(method)
        let rig = Rig { wire.install(in: &$0) }
        rig.mock.on(method, "/x", after: gate) { _ in .status(200) }
        let promises = (0..<3).map { _ in rig.ness.httpRequest(method, withUrl: "x").dataRequest() }
        await wire.changed.wait { promises.allSatisfy { $0.status.text.hasPrefix("running") } }
        gate.open()
        for promise in promises { _ = try await promise.value }
        #expect(rig.mock.requests.count == (isSafe ? 1 : 3))
    }

    @Test("progress reaches every caller of a shared exchange, even a late one") func progressReachesEveryCaller() async throws {
        let gate = TestGate(), handler = CountingHandler(), body = Data(count: 4_000)
        try await withServer { _ in
            .script([
                .send("HTTP/1.1 200 OK\r\n\(opaque)Content-Length: 4000\r\n\r\n"), .sendData(body.prefix(1_000)), .wait(gate),
                .sendData(body.dropFirst(1_000)), .close,
            ])
        } configure: {
            $0.duplicatedHandler = handler
        } _: { _, ness in
            let early = (0..<5).map { _ in ness.httpRequest(withUrl: "x").dataRequest() }
            // No event follows the bytes that a caller is notified of when it joins.
            await untilTrue { early.allSatisfy { $0.progress.completedBytes == 1_000 } }
            // A late caller is notified of the progress so far.
            let late = ness.httpRequest(withUrl: "x").dataRequest()
            await untilTrue { late.progress.completedBytes == 1_000 }
            #expect((early + [late]).allSatisfy { $0.progress.totalBytes == 4_000 && $0.status.text == "running 0.25" })
            gate.open()
            for promise in early + [late] {
                let count = try await promise.value.responseData.count
                #expect(count == 4_000)
                #expect(promise.progress.fractionCompleted == 1)
            }
        }
    }

    @Test("each caller of a shared exchange has its own validators") func eachCallerHasItsOwnValidators() async throws {
        let gate = TestGate(), wire = ReceiveGates(), rig = Rig { wire.install(in: &$0) }
        rig.mock.on(.get, "/x", after: gate) { _ in .json(User(id: 1, name: "a"), status: 404) }
        // A decoding request has `Accept: application/json`. The others need it to be equal.
        let request = rig.ness.get("x").set(headers: ["Accept": "application/json"])
        let any = request.dataRequest(), strict = request.validate(statusCode: 200).dataRequest()
        let typed = request.validate(statusCode: 404).dataRequest(decoding: User.self)
        await wire.changed.wait { [any.status, strict.status, typed.status].allSatisfy { $0.text.hasPrefix("running") } }
        gate.open()
        #expect(try await any.value.message.statusCode == 404)
        #expect(await strict.nessError()?.kind == .validation)
        #expect(await typed.nessError()?.kind == .validation)
        #expect(rig.mock.requests.count == 1)
    }

    // MARK: identity

    /// Returns true if a request counts as a duplicate of another.
    private func isMerged(_ first: RequestBuilder, _ second: RequestBuilder, ignoring names: Set<String> = []) throws -> Bool {
        let identities = try [first, second].map { builder in
            CallContext(builder.makeCall(.data)).identity(of: try builder.build(), ignoring: names)
        }
        return identities[0] != nil && identities[0] == identities[1]
    }

    @Test(
        "equal URLs are duplicates, however they are spelled",
        arguments: [
            ("https://a.test/x", "https://a.test/x", true), ("https://A.Test/x", "HTTPS://a.test:443/x", true),
            ("http://a.test", "http://a.test:80/", true), ("https://a.test/x#1", "https://a.test/x", true),
            ("https://a.test/x", "https://a.test/X", false), ("https://a.test/x", "https://a.test/x/", false),
            ("https://a.test/x?a=1", "https://a.test/x?a=2", false), ("https://a.test/x?a=1&b=2", "https://a.test/x?b=2&a=1", false),
            ("https://a.test/x", "https://b.test/x", false), ("https://a.test/x", "http://a.test/x", false),
            ("https://a.test/x", "https://a.test:444/x", false),
        ]) func theURL(first: String, second: String, isEqual: Bool) throws
    {
        #expect(try isMerged(Ness().get(first), Ness().get(second)) == isEqual)
    }

    @Test("requests differ by method, header fields and body, but not by time limits")
    func theMethodTheHeadersAndTheBody() throws {
        let get = Ness().get("https://a.test/x"), post = Ness().post("https://a.test/x")
        func with(_ headers: HTTPHeaders) -> RequestBuilder { get.set(headers: headers) }
        let merged = [
            try isMerged(with(["Accept": "a", "X": "1"]), with(["x": "1", "accept": "a"])),
            try isMerged(post.set(stringBody: "a"), post.set(stringBody: "a")),
            try isMerged(get, get.set(timeout: .seconds(99), deadline: .seconds(99))),
            try isMerged(with(["X-Trace": "1"]), with(["x-trace": "2"]), ignoring: ["x-trace"]),
        ]
        #expect(merged == [true, true, true, true])
        let separate = [
            try isMerged(get, Ness().head("https://a.test/x")), try isMerged(with(["Accept": "a"]), with(["Accept": "b"])),
            try isMerged(with(["Accept": "a"]), get), try isMerged(with(["X-Trace": "1"]), with(["X-Trace": "2"])),
            try isMerged(post.set(stringBody: "a"), post.set(stringBody: "b")),
        ]
        #expect(separate == [false, false, false, false, false])
    }

    @Test("a request with a closure for redirects is never a duplicate") func aRedirectPolicyThatDecidesEqualsNoOther() throws {
        let get = Ness().get("https://a.test/x"), decides = get.set(redirects: .decide(limit: 3) { _ in .follow })
        let stops = get.set(redirects: .stop)
        #expect(try [isMerged(decides, decides), isMerged(stops, stops), isMerged(stops, get)] == [false, true, false])
    }
}
