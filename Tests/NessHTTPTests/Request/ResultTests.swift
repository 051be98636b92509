import Foundation
import NessHTTP
import NessTesting
import Testing

/// The outcome of a request: one value or one error, and its parts.
@Suite(.inTurn) struct ResultTests {
    @Test(
        "data and upload requests end in response and bytes; a failure is an error, with the response if there was one", .covers("ION-37"))
    func results() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file")
            try Data("file".utf8).write(to: file)
            let rig = Rig()
            rig.mock.on(nil, "/x") { .text("got \($0.bodyText)", status: 201) }
            rig.mock.on(nil, "/lost") { _ in .failure(.connectionLost) }
            let data = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
            #expect(data.message.statusCode == 201 && data.responseData == Data("got ".utf8))
            let upload: DataResult = try await rig.ness.httpRequest(.post, withUrl: "x").uploadRequest(forFileLocation: file).value
            #expect(upload.message.statusCode == 201 && upload.responseData == Data("got file".utf8))
            let lost = await rig.ness.httpRequest(withUrl: "lost").dataRequest().nessError()
            #expect(lost?.kind == .connectionLost && lost?.response == nil)
            let refused = rig.ness.httpRequest(.post, withUrl: "x").validate(statusCode: 200).uploadRequest(forFileLocation: file)
            #expect(await refused.nessError()?.response?.text == "got file")
        }
    }

    @Test("a message has URL, status, header fields and a body, which may be empty", .covers("ION-38"))
    func message() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/full") { _ in .text("body", status: 203, headers: ["X-A": "1"]) }
        rig.mock.on(.get, "/empty") { _ in .status(204) }
        let full = try await rig.ness.httpRequest(withUrl: "full?a=1").dataRequest().value.message
        #expect(full.url.absoluteString == "https://mock.test/full?a=1" && full.statusCode == 203)
        #expect(full.headers["x-a"] == "1" && full.body == Data("body".utf8))
        let empty = try await rig.ness.httpRequest(withUrl: "empty").dataRequest().value.message
        #expect(empty.statusCode == 204 && empty.body.isEmpty)
    }

    @Test("several requests of different kinds are awaited together, and their results form one tuple", .covers("ION-48"))
    func tuple() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        rig.mock.on(.get, "/user") { _ in .json(User(id: 1, name: "a")) }
        let user = rig.ness.httpRequest(withUrl: "user").dataRequest(decoding: User.self)
        let plain = rig.ness.httpRequest(withUrl: "x").dataRequest(), other = rig.ness.httpRequest(.put, withUrl: "x").dataRequest()
        let pair = try await Promise.all(user, plain).value
        #expect(pair.0.id == 1 && pair.1.message.statusCode == 200)
        let triple = try await Promise.all(other, user, plain).then { "\($0.0.message.request.method) \($0.1.name)" }.value
        #expect(triple == "PUT a")
    }

    @Test("a response has a status, its bytes, its header fields as received, its text and its request", .covers("FLX-10"))
    func response() async throws {
        let rig = Rig()
        rig.mock.on(.put, "/x", replies: [.text("grün", status: 203, headers: ["X-MiXed": "V"]), .status(204)])
        let builder = rig.ness.httpRequest(.put, withUrl: "x").set(headers: ["X-Asked": "1"])
        let message = try await builder.dataRequest().value.message
        #expect(message.statusCode == 203 && message.body == Data("grün".utf8) && message.text == "grün")
        #expect(message.headers["x-mixed"] == "V" && message.headers.contains { $0.name == "X-MiXed" })
        #expect(message.request.method == .put && message.request.headers["X-Asked"] == "1")
        #expect(message.request.url.absoluteString == "https://mock.test/x")
        let empty = try await builder.dataRequest().value.message
        #expect(empty.statusCode == 204 && empty.body.isEmpty && empty.text == "")
    }

    @Test("a success or a failure arrives once, and on the main thread if asked for", .covers("FLX-04"))
    func onMain() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("a"), .failure(.offline)])
        for expected in ["a", "offline"] {
            let heard = Log<String>()
            let promise = rig.ness.httpRequest(withUrl: "x").dataRequest().finally(onMain: { result, error in
                heard.add(result?.message.text ?? (error as? NessError)?.kind.rawValue ?? "nothing")
                #expect(isOnMainQueue())
            })
            _ = try? await promise.value
            #expect(heard.entries == [expected])
        }
    }

    @Test("an outcome is a Result with the response or the error", .covers("FLX-28"))
    func outcomeAsText() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("fine"), .failure(.offline)])
        let good = rig.ness.httpRequest(withUrl: "x").dataRequest()
        _ = try await good.value
        let value: Result<DataResult, any Error> = try #require(good.outcome)
        #expect("\(value)".contains("GET https://mock.test/x \u{2192} 200 \"fine\""))
        let bad = rig.ness.httpRequest(withUrl: "x").dataRequest()
        _ = try? await bad.value
        let failure = try #require(bad.outcome)
        #expect("\(failure)".contains("GET https://mock.test/x: offline: there is no network"))
    }

    @Test("a request ends in a value, in an error with the response if there is one, or in a drop", .covers("PMH-45"))
    func ends() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .text("x") }
        rig.mock.on(.get, "/bad") { _ in .status(500) }
        rig.mock.on(.get, "/lost") { _ in .failure(.connectionLost) }
        rig.mock.on(.get, "/slow") { _ in
            await TestGate().wait()
            return .status(200)
        }
        func start(_ path: String) -> (DataPromise, Witness) {
            let promise = rig.ness.httpRequest(withUrl: path).validate(statusCode: 200).dataRequest()
            return (promise, Witness(promise))
        }
        for (path, end, status) in [("good", "value", nil), ("bad", "validation", 500), ("lost", "connectionLost", nil)]
            as [(String, String, Int?)]
        {
            let (promise, witness) = start(path)
            #expect(await witness.outcome() == [end])
            #expect((promise.error as? NessError)?.response?.statusCode == status)
        }
        let (promise, witness) = start("slow")
        await rig.mock.waitUntil { $0.requests.count == 4 }
        promise.drop()
        #expect(await witness.outcome() == ["dropped"])
    }

    @Test(
        "an outcome is a Result, which can be mapped, chained and recovered like a promise; a value can replace an error",
        .covers("PMH-46"))
    func outcome() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .text("4") }
        rig.mock.on(.get, "/lost") { _ in .failure(.connectionLost) }
        let good = rig.ness.httpRequest(withUrl: "good").dataRequest(), lost = rig.ness.httpRequest(withUrl: "lost").dataRequest()
        #expect(try await good.then { Int($0.message.text) ?? 0 }.then { $0 * 2 }.value == 8)
        #expect(try await lost.then { $0.message.text }.recover { _ in "none" }.value == "none")
        let text = try #require(good.outcome).map(\.message.text)
        #expect(try text.get() == "4")
        #expect((try? lost.outcome?.map(\.message.text).get()) ?? "none" == "none")
        #expect(throws: Rejected()) { try text.flatMap { _ in Result<Int, any Error>.failure(Rejected()) }.get() }
    }

    @Test("one closure gets the error, with kind and response, and another the end", .covers("ABS-21"))
    func closures() async throws {
        let rig = Rig(), heard = Log<String>()
        rig.mock.on(.get, "/x", replies: [.status(200), .text("gone", status: 410), .failure(.offline)])
        for _ in 0..<3 {
            let promise = rig.ness.httpRequest(withUrl: "x").dataRequest(decoding: Void.self)
                .handle { error in
                    let error = error as? NessError
                    heard.add("\(error?.kind.rawValue ?? "") \(error?.response?.text ?? "-")")
                }
                .finally { _, error in heard.add(error == nil ? "end" : "end by error") }
            _ = try? await promise.value
        }
        #expect(heard.entries == ["end", "validation gone", "end by error", "offline -", "end by error"])
    }

    @Test(
        "a refused response is a failure with status and reason, and success handlers never run", .covers("BI-01"),
        arguments: [HTTPMethod.get, .post])
    func refusedResponse(method: HTTPMethod) async throws {
        try await withServer({ _ in .text("broken", status: 500) }) { _, ness in
            let log = Log<String>()
            let builder = ness.httpRequest(method, withUrl: "x").validate(statusCodes: 200..<300)
            let promise = builder.dataRequest()
            let error = await promise.then { _ in log.add("then") }.handle { _ in log.add("handle") }.nessError()
            #expect(log.entries == ["handle"])
            #expect(error?.kind == .validation)
            #expect(error?.response?.statusCode == 500)
            #expect(error?.context.reason == "the status is 500, not 200..<300")
            #expect(promise.result == nil)
        }
    }

    @Test("after a refused connection only failure handlers run", .covers("BI-02"))
    func refusedConnection() async throws {
        let log = Log<String>()
        let promise = Ness().httpRequest(withUrl: try await refusingURL()).dataRequest()
        let end = promise.then { _ in log.add("then") }.handle { _ in log.add("handle") }
            .finally { value, error in log.add("finally \(value == nil) \(error != nil)") }
        #expect(await end.nessError()?.kind == .cannotConnect)
        #expect(log.entries == ["handle", "finally true true"])
        #expect(promise.result == nil)
    }
}
