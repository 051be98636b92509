#if os(Linux)
import Foundation
import Glibc
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Requests over libcurl whose transport, manager or process goes through what it rarely goes through: thousands in flight, a fork, an end.
@Suite("Endurance of the engine on libcurl", .inTurn, .enabled(if: Engine.isCurl)) struct CurlEnduranceTests {
    /// The test has a process to itself: Foundation's `Process` crashes in one that has this many descriptors open.
    @Test("ten thousand requests in flight to one server, which responds late, all succeed", .inOwnProcess)
    func many() async throws {
        // The thread sanitizer makes each request ten times as expensive.
        let isSanitized = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
        let count = LateServer.affordableCount(isSanitized ? 1_000 : 10_000)
        let server = try LateServer(count)
        let ness = Ness { $0.maximumConnectionsPerHost = count }
        let promises = (0..<count).map { ness.httpRequest(withUrl: "\(server.url)\($0)").set(timeout: .seconds(600)).dataRequest() }
        var statuses: Set<Int> = []
        for promise in promises { statuses.insert(try await promise.value.message.statusCode) }
        #expect(statuses == [204])
        // The server had all of them before it answered one.
        #expect(await server.mostOpen() == count)
        await ness.shutdown(within: .zero)
    }

    @Test("a manager that is released with requests in flight: all settle, and the thread and its connections end")
    func released() async throws {
        let gate = TestGate()
        try await serving({ _ in
            await gate.wait()
            return .text("late")
        }) { server in
            var ness: Ness? = Ness { $0.maximumConnectionsPerHost = 8 }
            // Eight are sent, and four wait for a place.
            let promises = (0..<12).compactMap { ness?.httpRequest(.post, withUrl: server.at("/\($0)")).dataRequest() }
            await server.waitUntil { $0.requestCount == 8 }
            ness = nil
            for promise in promises.prefix(3) {
                promise.drop()
                #expect(await promise.nessError()?.kind == .dropped)
            }
            gate.open()
            for promise in promises.dropFirst(3) {
                let text = try await promise.value.message.text
                #expect(text == "late")
            }
            #expect(await server.waitUntil { $0.openConnections == 0 })
        }
    }

    @Test("a transport that is shut down with requests in flight: all settle immediately, at any stage")
    func shutDown() async throws {
        let deaf = try DeafListener(), begun = TestGate()
        let silent = try await TestServer.start(script: { _ in [.receiveRequest, .stall] })
        let cut = try await TestServer.start(script: { _ in
            [.receiveRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), .signal(begun), .stall]
        })
        // libcurl waits for the first connection to a port before it opens one for https there: it may be able to share that one.
        let mute = try await TestServer.start(script: { _ in [.receive(bytes: 1), .stall] })
        let muteSecure = try await TestServer.start(script: { _ in [.receive(bytes: 1), .stall] })
        let transport = try CurlTransport()
        let ness = Ness { $0.transport = transport }
        let secure = "https://127.0.0.1:\(muteSecure.port)/"
        let promises = [deaf.url, silent.at("/"), cut.at("/"), secure].map { ness.httpRequest(withUrl: $0).dataRequest() }
        let upload = ness.httpRequest(.post, withUrl: mute.at("/")).set(body: Data(count: 16 << 20)).dataRequest()
        await deaf.waitUntil { $0 == 1 }
        await silent.waitUntil { $0.requestCount == 1 }
        await begun.wait()
        for server in [mute, muteSecure] { await server.waitUntil { $0.bytesReceived > 1 } }
        await transport.shutdown()
        for promise in promises + [upload] { #expect(await promise.nessError() != nil) }
        // The thread has closed every connection.
        for server in [silent, cut, mute, muteSecure] {
            #expect(await server.waitUntil { $0.openConnections == 0 })
            await server.stop()
        }
        await deaf.waitUntil { $0 == 0 }
    }

    @Test("a fork with requests in flight disturbs none of them") func fork() async throws {
        let gate = TestGate()
        try await serving({ request in
            await gate.wait()
            return .text(request.bodyText)
        }) { server in
            let ness = Ness()
            let promises = (0..<6).map { ness.httpRequest(.post, withUrl: server.at("/")).set(stringBody: "\($0)").dataRequest() }
            await server.waitUntil { $0.requestCount == 6 }
            let child = try ForkedChild()
            gate.open()
            for (index, promise) in promises.enumerated() {
                let text = try await promise.value.message.text
                #expect(text == "\(index)")
            }
            // Requests that start while the child lives are answered, too.
            let next = ness.httpRequest(.post, withUrl: server.at("/")).set(stringBody: "next").dataRequest()
            let text = try await next.value.message.text
            #expect(text == "next")
            #expect(child.end() == 0)
        }
    }

    @Test("no program that this process starts inherits a connection") func inheritance() async throws {
        let gate = TestGate()
        try await serving({ _ in
            await gate.wait()
            return .text("late")
        }) { server in
            let ness = Ness()
            let promises = (0..<4).map { ness.httpRequest(.post, withUrl: server.at("/\($0)")).dataRequest() }
            await server.waitUntil { $0.requestCount == 4 }
            let sockets = Descriptors.connected(toPort: server.port)
            #expect(sockets.count == 4)
            #expect(sockets.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
            gate.open()
            for promise in promises { _ = try await promise.value }
        }
    }

    @Test(
        "connections and handshakes that hang delay no other exchange, and end immediately when they are dropped", arguments: [false, true])
    func hanging(isSecure: Bool) async throws {
        let deaf = try DeafListener()
        let mute = try await TestServer.start(script: { _ in [.receive(bytes: 1), .stall] })
        let hanging = isSecure ? "https://127.0.0.1:\(mute.port)/" : deaf.url
        let ness = Ness()
        let promises = (0..<6).map { ness.httpRequest(withUrl: "\(hanging)\($0)").dataRequest() }
        // With HTTP/2 one connection is tried at a time, because all requests may fit on it.
        let count = CurlLibrary.shared?.speaksHTTP2 == true ? 1 : 6
        if isSecure { await mute.waitUntil { $0.openConnections == count } } else { await deaf.waitUntil { $0 == 6 } }
        try await serving({ .text($0.path) }) { good in
            for number in 0..<20 {
                let text = try await ness.httpRequest(withUrl: good.at("/\(number)")).dataRequest().value.message.text
                #expect(text == "/\(number)")
                if number % 4 == 0 { promises[number / 4].drop() }
            }
        }
        for promise in promises.prefix(5) { #expect(await promise.nessError()?.kind == .dropped) }
        #expect(!promises[5].isCompleted)
        promises[5].drop()
        if isSecure { #expect(await mute.waitUntil { $0.openConnections == 0 }) } else { await deaf.waitUntil { $0 == 0 } }
        await mute.stop()
    }
}

/// Name look-ups that never end. Each test runs in a process of its own, in which a library answers for the system.
@Suite("Name look-ups that hang", .inOwnProcess, .enabled(if: Engine.isCurl)) struct CurlLookUpTests {
    @Test("a name look-up that hangs delays no other exchange, and ends immediately when its request is dropped")
    func lookUp() async throws {
        let lookUpCount = try #require(OwnProcess.hangingLookUpCount)
        let ness = Ness()
        let promises = (0..<3).map { ness.httpRequest(withUrl: "http://\(OwnProcess.hangingHost):8\($0)/").dataRequest() }
        // Three requests, and one look-up.
        await onThread { while lookUpCount() < 1 { sched_yield() } }
        try await serving({ .text($0.path) }) { good in
            for number in 0..<9 {
                let text = try await ness.httpRequest(withUrl: good.at("/\(number)")).dataRequest().value.message.text
                #expect(text == "/\(number)")
                if number % 3 == 0 { promises[number / 3].drop() }
            }
            for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
            // The thread ends although the look-up goes on.
            await ness.shutdown(within: .zero)
            #expect(await good.waitUntil { $0.openConnections == 0 })
        }
        #expect(lookUpCount() == 1)
    }

    @Test("no socket of the process is inherited by a program that it starts, look-ups included")
    func inheritance() async throws {
        let lookUpCount = try #require(OwnProcess.hangingLookUpCount), foreign = Set(Descriptors.sockets)
        let ness = Ness()
        let hanging = ness.httpRequest(withUrl: "http://\(OwnProcess.hangingHost)/").dataRequest()
        await onThread { while lookUpCount() < 1 { sched_yield() } }
        try await serving({ .text($0.path) }) { server in
            for host in ["127.0.0.1", "localhost"] {
                _ = try await ness.httpRequest(.post, withUrl: "http://\(host):\(server.port)/").dataRequest().value
                _ = try await ness.httpRequest(withUrl: "http://\(host):\(server.port)/").dataRequest().value
            }
            let sockets = Descriptors.sockets.filter { !foreign.contains($0) }
            #expect(sockets.count > 2 && sockets.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
        }
        hanging.drop()
    }

    @Test("requests to a name that hangs leave one thread behind, however many are dropped", .onlyOf8_16)
    func threads() async throws {
        let lookUpCount = try #require(OwnProcess.hangingLookUpCount)
        let ness = Ness { $0.maximumConnectionsPerHost = 500 }
        func drop(_ count: Int) async {
            let promises = (0..<count).map { number in
                ness.httpRequest(.post, withUrl: "http://\(OwnProcess.hangingHost)/\(number)").dataRequest()
            }
            for promise in promises { promise.drop() }
            for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        }
        let first = ness.httpRequest(withUrl: "http://\(OwnProcess.hangingHost)/").dataRequest()
        await onThread { while lookUpCount() < 1 { sched_yield() } }
        let before = Threads.count
        for _ in 0..<10 { await drop(500) }
        let after = Threads.count
        #expect(after <= before + 20, "\(before) threads before, \(after) after")
        #expect(lookUpCount() == 1)
        first.drop()
        await ness.shutdown(within: .zero)
    }
}
#endif
