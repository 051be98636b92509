import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct ScriptTests {
    /// Runs a script on one connection, and returns the bytes that a client with one request receives.
    private func seen(_ steps: [ConnectionStep], sending request: String = get) async throws -> (text: String, end: RawClient.End) {
        let server = try await TestServer.start(script: { _ in steps })
        let result = try await server.client { client in
            client.send(request)
            return client.readToEnd()
        }
        #expect(await server.waitUntil { $0.openConnections == 0 })
        return result
    }

    @Test(
        "a script sends its bytes, and closes or resets the connection",
        arguments: [
            ([.receiveHead, .reset], "", .reset), ([.receiveRequest, .close], "", .closed), ([.receiveRequest], "", .closed),
            (
                [.receiveHead, .send("a"), .sendData(Data([98])), .drip("cd"), .dripData(Data([101]), every: .milliseconds(1))], "abcde",
                .closed
            ),
        ] as [([ConnectionStep], String, RawClient.End)])
    func bytes(steps: [ConnectionStep], text: String, end: RawClient.End) async throws {
        #expect(try await seen(steps) == (text, end))
    }

    @Test("the chunks of a closure are sent one after the other; its error resets the connection")
    func chunksOfAClosure() async throws {
        let count = Log<Int>()
        let all = ConnectionStep.sendEach {
            count.add(0)
            return count.entries.count > 3 ? nil : Data("\(count.entries.count)".utf8)
        }
        #expect(try await seen([.receiveHead, all, .send("!")]) == ("123!", .closed))
        struct Failure: Error {}
        #expect(try await seen([.receiveHead, .sendEach { throw Failure() }, .send("!")]) == ("", .reset))
    }

    @Test("a server that sends the chunks of a closure without a pause can be stopped")
    func endlessChunks() async throws {
        let server = try await TestServer.start(script: { _ in [.receiveHead, .sendEach { Data(count: 10) }] })
        let client = try await server.client { client in
            client.send(get)
            return client
        }
        let reads = Task.detached { client.readToEnd() }
        await server.waitUntil { $0.connectionCount == 1 }
        await server.stop()
        _ = await reads.value
    }

    @Test("a closure of chunks is canceled when the client closes")
    func closureIsCanceled() async throws {
        let isCanceled = TestGate()
        let server = try await TestServer.start(script: { _ in
            [
                .receiveHead, .send("a"),
                .sendEach {
                    await withTaskCancellationHandler {
                        await isCanceled.wait()
                    } onCancel: {
                        isCanceled.open()
                    }
                    return nil
                },
            ]
        })
        let client = try await server.client { client in
            client.send(get)
            return client
        }
        client.cut()
        await isCanceled.wait()
        await server.stop()
    }

    @Test("after a half close the server still reads") func halfCloseLeavesReadingOpen() async throws {
        let read = TestGate()
        let server = try await TestServer.start(script: { _ in [.halfClose, .receive(bytes: 5), .signal(read), .stall] })
        let client = try await server.client { client in
            #expect(client.readToEnd().end == .closed)
            client.send("hello")
            return client
        }
        await read.wait()
        #expect(server.openConnections == 1)
        client.cut()
        await server.waitUntil { $0.openConnections == 0 }
    }

    @Test("a wait in a script ends when the client closes") func aWaitEndsWhenThePeerCloses() async throws {
        let never = TestGate()
        let server = try await TestServer.start(script: { _ in [.receiveRequest, .wait(never), .send("unreached")] })
        try await server.client { client in
            client.send(get)
            client.cut()
        }
        #expect(await server.waitUntil { $0.connectionCount == 1 && $0.openConnections == 0 })
    }

    @Test("steps repeat, and serve continues on the same connection") func stepsRepeatAndServeGoesOn() async throws {
        let steps: [ConnectionStep] = [
            .repeated(2, [.receiveRequest, .respond(.text("script"))]), .serve { .text("served \($0.requestNumberOnConnection)") },
        ]
        let server = try await TestServer.start(script: { _ in steps })
        let bodies = try await server.client { client in
            return (1...4).map { _ in client.exchange(get).body }
        }
        #expect(bodies == ["script", "script", "served 3", "served 4"])
    }

    @Test("a handler can return a script, and the connection continues") func aHandlerCanAnswerWithAScriptAndGoOn() async throws {
        let server = try await TestServer.start { request in
            request.path == "/early"
                ? .script([.send("HTTP/1.1 103 Early Hints\r\n\r\n"), .respond(.text("main")), .resumeServing])
                : request.path == "/cut" ? .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), .reset]) : .text("plain")
        }
        let (interim, main, plain, cut) = try await server.client { client in
            client.send("GET /early HTTP/1.1\r\nHost: x\r\n\r\n")
            let interim = client.read(through: "\r\n\r\n")
            let main = client.exchange("").body
            let plain = client.exchange(get).body
            client.send("GET /cut HTTP/1.1\r\nHost: x\r\n\r\n")
            return (interim, main, plain, client.readToEnd().end)
        }
        #expect(interim == "HTTP/1.1 103 Early Hints\r\n\r\n")
        #expect(main == "main" && plain == "plain" && cut == .reset)
    }

    @Test("an endless body ends with the server, even if the client reads all of it in one call")
    func endlessBodyAndStop() async throws {
        let server = try await TestServer.start(script: { _ in [.receiveHead, .sendUntilClosed(Data("a".utf8))] })
        let port = server.port
        async let end = offPool {
            let client = try RawClient(port: port)
            client.send(get)
            return client.readToEnd(limit: .max).end
        }
        #expect(await server.waitUntil { $0.bytesReceived == get.utf8.count })
        await server.stop()
        #expect(try await end != .limit)
    }

    @Test("a response in a script has no body for HEAD") func respondingMindsTheRequestsMethod() async throws {
        let head = try await seen([.receiveRequest, .respond(.text("body"))], sending: "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(head.text.hasSuffix("Content-Length: 4\r\n\r\n"))
    }

    @Test("a malformed request in a script is rejected") func aMalformedRequestInAScriptIsRefused() async throws {
        let server = try await TestServer.start(script: { _ in [.receiveRequest, .respond(.text("unreached"))] })
        let text = try await server.client { client in
            client.send("nonsense\r\n\r\n")
            return client.readToEnd().text
        }
        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(server.requestCount == 0)
    }

    @Test("a script knows the number of its connection") func everyConnectionGetsItsNumber() async throws {
        let server = try await TestServer.start(script: { connection in [.receiveHead, .send("\(connection.number)")] })
        let texts = try await offPool {
            try (1...3).map { _ in
                let client = try RawClient(port: server.port)
                client.send(get)
                return client.readToEnd().text
            }
        }
        #expect(texts == ["1", "2", "3"])
    }

    @Test("requests after the end of a script get 404") func resumingAScriptedServerAnswers404() async throws {
        let server = try await TestServer.start(script: { _ in [.resumeServing] })
        let answer = try await server.client { $0.exchange(get) }
        #expect(answer.head.hasPrefix("HTTP/1.1 404"))
    }

    @Test("ten thousand requests on one scripted connection do not grow the stack")
    func resumingTenThousandTimesKeepsTheStackFlat() async throws {
        let server = try await TestServer.start(recordsRequests: false) { _ in .script([.send("x"), .resumeServing]) }
        let count = 10_000
        let text = try await server.client { client in
            Thread.detachNewThread {
                for _ in 0..<count / 100 { client.send(String(repeating: get, count: 100)) }
                client.closeWriting()
            }
            return client.readToEnd().text
        }
        #expect(text.utf8.count == count)
    }
}
