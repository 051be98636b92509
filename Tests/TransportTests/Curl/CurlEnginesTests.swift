#if os(Linux)
import Foundation
import Glibc
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Several threads of one transport, on machines with a single core, too.
@Suite(.inTurn, .enabled(if: Engine.isCurl)) struct CurlEnginesTests {
    private static func engines(
        count: Int, idleLimit: Duration = CurlEngine.defaultIdleLimit, _ options: (inout CurlTransport.Options) -> Void = { _ in }
    ) throws -> CurlEngines {
        var settings = CurlTransport.Options()
        settings.proxy = .direct
        options(&settings)
        return CurlEngines(try CurlSettings(settings), count: count, idleLimit: idleLimit)
    }

    /// Counts the engines that take a number of exchanges at once. The exchanges are not started.
    private static func used(by count: Int, of engines: CurlEngines, url: String) throws -> Int {
        let chosen = try (0..<count).map { _ in
            let exchange = try CurlExchange(HTTPRequest(url: try TestSupport.url(url)))
            return (try engines.engine(for: exchange), exchange)
        }
        for (engine, exchange) in chosen { engine.didRelease(exchange) }
        return Set(chosen.map { ObjectIdentifier($0.0) }).count
    }

    @Test("an origin gets a further thread beyond eight exchanges in flight, and with HTTP/2 beyond a hundred")
    func sharing() throws {
        let engines = try Self.engines(count: 3)
        for (count, expected) in [(8, 1), (9, 2), (16, 2), (17, 3), (99, 3)] {
            #expect(try Self.used(by: count, of: engines, url: "http://localhost/") == expected)
        }
        for (count, expected) in CurlLibrary.shared?.speaksHTTP2 == true ? [(100, 1), (101, 2)] : [(8, 1), (9, 2)] {
            #expect(try Self.used(by: count, of: engines, url: "https://localhost/") == expected)
        }
        let withoutHTTP2 = try Self.engines(count: 3) { $0.allowsHTTP2 = false }
        #expect(try Self.used(by: 9, of: withoutHTTP2, url: "https://localhost/") == 2)
        for engines in [engines, withoutHTTP2] { engines.stop() }
    }

    @Test("a limit of exchanges with a host limits the connections of all threads together", .keepingConnections)
    func connections() async throws {
        let arrivals = Lock<(expected: Int, gate: TestGate)>((0, TestGate()))
        try await serving({ request in
            let (isLast, gate) = arrivals.withLock { state in
                state.expected -= 1
                return (state.expected == 0, state.gate)
            }
            if isLast { gate.open() }
            await gate.wait()
            return .text(request.path)
        }) { server in
            let transport = CurlTransport(try Self.engines(count: 4))
            let ness = Ness {
                $0.transport = transport
                $0.maximumConnectionsPerHost = 40
            }
            for count in [40, 1, 9, 33, 40, 17, 40] {
                arrivals.withLock { $0 = (count, TestGate()) }
                let promises = (0..<count).map { ness.httpRequest(withUrl: server.at("/\($0)")).dataRequest() }
                for (number, promise) in promises.enumerated() { #expect(try await promise.value.message.text == "/\(number)") }
            }
            // Each waited for the last one, so the first round opened them all.
            #expect(server.connectionCount == 40)
        }
    }

    @Test(
        "an exchange gives its share back, however it ends",
        arguments: ["answered", "cut", "reset", "cancelled", "hasty", "refused", "abandoned"])
    func giveBack(end: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
        let answer: [ConnectionStep] =
            switch end {
            case "answered": [.send(head + "123456789")]
            case "cut": [.send(head + "1234"), .close]
            case "reset": [.reset]
            default: [.stall]
            }
        try await serving(script: { _ in [.receiveRequest] + answer }) { server in
            let engines = try Self.engines(count: 2)
            let transport = CurlTransport(engines)
            // Nothing listens on port 1.
            let request = HTTPRequest(url: try url("http://127.0.0.1:\(end == "refused" ? 1 : server.port)/"))
            // The pipeline has abandoned the exchange before the thread starts it.
            let control = end == "abandoned" ? FakeControl(admits: false) : nil
            let tasks = (0..<20).map { _ in Task { try await transport.send(request, under: control) { _ in } } }
            if end == "cancelled" { await server.waitUntil { $0.requestCount == 20 } }
            if end == "cancelled" || end == "hasty" { for task in tasks { task.cancel() } }
            for task in tasks { #expect((try? await task.value) == nil || end == "answered") }
            await transport.shutdown()
            // With a place still taken, the last of them would get the other engine.
            let group = CurlShares.Group(origin: ParsedURL(request.url).origin, isStreamed: false)
            let chosen = (0..<8).map { _ in engines.shares.enter(group, share: 8) }
            #expect(Set(chosen).count == 1)
        }
    }

    @Test("connections of a thread that has been idle for long are closed, and the next exchanges open new ones")
    func idle() async throws {
        try await serving({ .text($0.path) }) { server in
            let transport = CurlTransport(try Self.engines(count: 2, idleLimit: .zero))
            let ness = Ness {
                $0.transport = transport
                $0.maximumConnectionsPerHost = 20
            }
            // Many find a thread that is just then about to close its connections.
            for round in 0..<200 {
                let promises = (0..<(round % 20)).map { ness.httpRequest(withUrl: server.at("/\(round)-\($0)")).dataRequest() }
                for (number, promise) in promises.enumerated() { #expect(try await promise.value.message.text == "/\(round)-\(number)") }
            }
            #expect(await server.waitUntil { $0.openConnections == 0 })
            await transport.shutdown()
        }
    }

    @Test("a shutdown ends the exchanges of all threads, and starts no further thread")
    func shutDown() async throws {
        try await serving(script: { _ in [.receiveRequest, .stall] }) { server in
            let transport = CurlTransport(try Self.engines(count: 4))
            let request = HTTPRequest(url: server.url)
            let tasks = (0..<20).map { _ in Task { try await transport.send(request) { _ in } } }
            await server.waitUntil { $0.requestCount == 20 }
            await transport.shutdown()
            for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
            #expect(await server.waitUntil { $0.openConnections == 0 })
            let tooLate = (0..<40).map { _ in Task { try await transport.send(request) { _ in } } }
            for task in tooLate { await #expect(throws: TransportError.self) { try await task.value } }
        }
    }

    @Test("an engine that has no thread, or that has been stopped, keeps no exchange whose command it ignores", arguments: [false, true])
    func ignoredCommand(isStopped: Bool) async throws {
        let engine = try #require(CurlEngine(try CurlSettings(CurlTransport.Options())))
        let request = HTTPRequest(url: try url("http://127.0.0.1:1/"))
        if isStopped {
            // The exchange has ended, so the thread that it starts opens no connection.
            let ended = try CurlExchange(request)
            ended.mailbox.cancel(CancellationError())
            try engine.start(ended)
            engine.stop()
            await engine.waitUntilClosed()
        }
        weak var held: CurlExchange?
        do {
            let exchange = try CurlExchange(request)
            held = exchange
            engine.post(.cancel(exchange))
        }
        #expect(held == nil)
        engine.stop()
        await engine.waitUntilClosed()
    }

    @Test("host entries count even after the connections of an idle thread were closed")
    func idleHostEntries() async throws {
        try await serving({ .text($0.path) }) { server in
            let transport = CurlTransport(
                try Self.engines(count: 1, idleLimit: .zero) {
                    $0.hostEntries = [.init(host: "entry.test", port: server.port, addresses: ["127.0.0.1"])]
                })
            for round in 0..<5 {
                try await transport.send(HTTPRequest(url: try url(server.at("/\(round)", host: "entry.test")))) { _ in }
                #expect(await server.waitUntil { $0.openConnections == 0 })
            }
            await transport.shutdown()
        }
    }
}

/// A process that may open no further descriptor. The limit holds for the whole process, so the test has one of its own.
@Suite(.inOwnProcess, .enabled(if: Engine.isCurl)) struct CurlDescriptorTests {
    @Test("without a free descriptor a request fails immediately, and the next one with free descriptors succeeds")
    func descriptors() async throws {
        try await serving({ _ in .text("fine") }) { server in
            let transport = try CurlTransport { $0.proxy = .direct }
            let request = HTTPRequest(url: server.url)
            // The system gives the lowest number that is free.
            let next = dup(0)
            try #require(next > 0)
            close(next)
            let error = try await withProcessLimit(RLIMIT_NOFILE, next) {
                await #expect(throws: TransportError.self) { try await transport.send(request) { _ in } }
            }
            // Not that of a socket: an engine made without descriptors would not notice later requests.
            #expect(error?.kind == .cannotConnect && error?.reason.contains("descriptor") == true)
            try await transport.send(request) { _ in }
            #expect(server.requestCount == 1)
        }
    }
}
#endif
