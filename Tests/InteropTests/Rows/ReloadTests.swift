#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Gateways that reload or restart while requests run. Behind each is Node, which counts what arrives.
    @Suite(.needs(.nginx, .apache, .haproxy, .node)) struct ReloadTests {
        /// The requests of a load, and the way they ended.
        private struct Load {
            let identifier = UUID().uuidString.prefix(8)
            let tally = Log<Int>()
            let succeeded = Log<String>()
            let failed = Log<(id: String, error: any Error)>()

            /// Sends requests from several tasks at once, and disturbs the server five times in the course of them.
            func run(_ wire: Wire, at address: String, _ disturb: () async throws -> Void) async throws {
                let ness = try wire.ness {
                    $0.retryControl = CounterRetryControl(maxRetryCount: 400, timeIntervalBeforeTryToRetry: 0.02)
                    $0.retryBudget = RetryBudget(minimum: 1_000_000)
                    $0.maximumConnectionsPerHost = 12
                }
                let count = 600, workers = 12
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for worker in 0..<workers {
                        group.addTask {
                            for number in stride(from: worker, to: count, by: workers) { await send(number, ness, address) }
                        }
                    }
                    for step in 1...5 {
                        await tally.wait(for: count * step / 6)
                        try await disturb()
                    }
                    try await group.waitForAll()
                }
            }

            /// Every third request is a POST.
            private func send(_ number: Int, _ ness: Ness, _ address: String) async {
                let method = number.isMultiple(of: 3) ? HTTPMethod.post : .get, id = "\(identifier)-\(method)-\(number)"
                let request = ness.httpRequest(method, withUrl: address).set(header: "X-Id", to: id).validate()
                do {
                    _ = try await (method == .post ? request.set(stringBody: "body") : request).response()
                    succeeded.add(id)
                } catch {
                    failed.add((id, error))
                }
                tally.add(number)
            }
        }

        /// Puts a gateway under load, and checks the requests that arrived at the origin. A POST fails if the gateway closes its
        /// connection, because the origin may have acted on it.
        private func check(_ wire: Wire, _ address: String, _ disturb: () async throws -> Void) async throws {
            let load = Load(), node = try await Servers.get(Node.self)
            try await load.run(wire, at: address, disturb)
            let counts = try await wire.ness().httpRequest(withUrl: node.at("/counts")).decoded(as: [String: Int].self)
            let succeeded = load.succeeded.entries, failed = load.failed.entries
            #expect(succeeded.count + failed.count == 600)
            #expect(failed.allSatisfy { $0.id.contains("POST") }, "idempotent requests are sent again: \(failed)")
            #expect(counts.filter { $0.key.hasPrefix(load.identifier) && $0.key.contains("POST") && $0.value > 1 }.isEmpty)
            #expect(succeeded.allSatisfy { (counts[$0] ?? 0) >= 1 })
        }

        @Test("a web server reloads: no GET fails, and no POST arrives twice", arguments: WebServers.allCases, Wire.allCases)
        func reload(server: WebServers, wire: Wire) async throws {
            let server = try await server.running()
            try await check(wire, server.at("/origin/seen"), server.reload)
        }

        @Test("the same over HTTP/2 and TLS", arguments: WebServers.allCases)
        func reloadSecurely(server: WebServers) async throws {
            let server = try await server.running()
            try await check(.curl, server.securely(at: "/origin/seen"), server.reload)
        }

        @Test("nginx reloads ten times under TLS: no GET fails, although none is retried")
        func reloadWithoutRetries() async throws {
            let server = try await WebServers.nginx.running(), address = server.securely(at: "/origin/seen")
            let ness = try Wire.curl.ness { $0.maximumConnectionsPerHost = 16 }
            let succeeded = Log<Int>(), failed = Log<any Error>(), isOver = TestGate()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        while !isOver.isOpen {
                            do {
                                _ = try await ness.httpRequest(withUrl: address).set(header: "X-Id", to: "r\(worker)").validate().response()
                                succeeded.add(worker)
                            } catch {
                                failed.add(error)
                            }
                        }
                    }
                }
                for _ in 0..<10 {
                    await succeeded.wait(for: succeeded.entries.count + 300)
                    try await server.reload()
                }
                isOver.open()
                try await group.waitForAll()
            }
            #expect(failed.entries.isEmpty, "\(failed.entries.count): \(String(describing: failed.entries.first))")
        }

        @Test("HAProxy reloads: no GET fails, and no POST arrives twice", arguments: Wire.allCases)
        func gateway(wire: Wire) async throws {
            let server = try await Servers.get(HAProxy.self)
            try await check(wire, server.at("/seen"), server.reload)
        }

        @Test(
            "a web server is killed and started again: no GET fails, and no POST arrives twice", arguments: WebServers.allCases,
            Wire.allCases)
        func restart(server: WebServers, wire: Wire) async throws {
            let server = try await server.running()
            try await check(wire, server.at("/origin/seen")) { try await server.process.restart() }
        }

        @Test("nginx is killed and started again under HTTP/2: no GET fails, and no POST arrives twice")
        func restartSecurely() async throws {
            let server = try await WebServers.nginx.running()
            try await check(.curl, server.securely(at: "/origin/seen")) { try await server.process.restart() }
        }
    }
}
#endif
