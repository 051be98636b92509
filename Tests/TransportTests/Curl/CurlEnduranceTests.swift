#if os(Linux)
import Foundation
import Glibc
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Requests over libcurl whose manager or process goes through what it rarely goes through.
@Suite("Endurance of the engine on libcurl", .inTurn, .enabled(if: Engine.isCurl)) struct CurlEnduranceTests {
    /// The test has a process to itself: Foundation's `Process` crashes in one that has this many descriptors open.
    @Test("requests in flight on descriptors beyond 1,024 all succeed", .inOwnProcess)
    func many() async throws {
        let count = 700, gate = TestGate()
        try await withProcessLimit(RLIMIT_NOFILE, 3_000) {
            try await serving({ request in
                await gate.wait()
                return .text(request.path)
            }) { server in
                let ness = Ness { $0.maximumConnectionsPerHost = count }
                let promises = (0..<count).map { ness.httpRequest(withUrl: server.at("/\($0)")).dataRequest() }
                await server.waitUntil { $0.requestCount == count }
                gate.open()
                for (number, promise) in promises.enumerated() {
                    let text = try await promise.value.message.text
                    #expect(text == "/\(number)")
                }
                await ness.shutdown(within: .zero)
            }
        }
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

    @Test("handshakes that hang delay no other exchange, and end immediately when they are dropped")
    func hanging() async throws {
        try await serving(script: { _ in [.receive(bytes: 1), .stall] }) { mute in
            // On a busy machine the other requests may take longer than the connect timeout.
            let ness = Ness { $0.connectTimeout = .seconds(3_600) }
            let promises = (0..<6).map { ness.httpRequest(withUrl: "https://127.0.0.1:\(mute.port)/\($0)").dataRequest() }
            // With HTTP/2 one connection is tried at a time, because all requests may fit on it.
            let count = CurlLibrary.shared?.speaksHTTP2 == true ? 1 : 6
            await mute.waitUntil { $0.openConnections == count }
            try await serving({ .text($0.path) }) { good in
                for (number, promise) in promises.enumerated() {
                    let text = try await ness.get(good.at("/\(number)")).text()
                    #expect(text == "/\(number)")
                    #expect(!promise.isCompleted)
                    promise.drop()
                    #expect(await promise.nessError()?.kind == .dropped)
                }
            }
            let isClosed = await mute.waitUntil { $0.openConnections == 0 }
            #expect(isClosed)
        }
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
            for (number, promise) in promises.enumerated() {
                let text = try await ness.get(good.at("/\(number)")).text()
                #expect(text == "/\(number)")
                promise.drop()
                #expect(await promise.nessError()?.kind == .dropped)
            }
            // The thread ends although the look-up goes on.
            await ness.shutdown(within: .zero)
            #expect(await good.waitUntil { $0.openConnections == 0 })
        }
        #expect(lookUpCount() == 1)
    }

    @Test("no socket of the process is inherited by a program that it starts, look-ups included")
    func inheritance() async throws {
        let lookUpCount = try #require(OwnProcess.hangingLookUpCount), foreign = Set(Self.sockets)
        let ness = Ness()
        let hanging = ness.httpRequest(withUrl: "http://\(OwnProcess.hangingHost)/").dataRequest()
        await onThread { while lookUpCount() < 1 { sched_yield() } }
        try await serving({ .text($0.path) }) { server in
            for host in ["127.0.0.1", "localhost"] {
                _ = try await ness.httpRequest(.post, withUrl: "http://\(host):\(server.port)/").dataRequest().value
                _ = try await ness.httpRequest(withUrl: "http://\(host):\(server.port)/").dataRequest().value
            }
            let sockets = Self.sockets.filter { !foreign.contains($0) }
            #expect(sockets.count > 2 && sockets.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
        }
        hanging.drop()
    }

    /// All sockets of this process.
    private static var sockets: [Int32] {
        (0..<Int32(4_096)).filter { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        }
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
