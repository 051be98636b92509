#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// Downloads that continue with ranges, by the ETags of each server.
    @Suite struct RangeTests {
        /// Keeps the conditions under which requests ask for a part.
        private final class Ranges: Sendable {
            let log = Log<(range: String?, condition: String?)>()

            func manager(_ wire: Wire) throws -> Ness {
                try wire.ness { configuration in
                    configuration.retryControl = CounterRetryControl(maxRetryCount: 200, timeIntervalBeforeTryToRetry: 0.05)
                    let record = ClosureLoader.modifyRequest { [log] request in
                        log.add((request.headers["Range"], request.headers["If-Range"]))
                    }
                    configuration.insert(record, at: .exchange)
                }
            }
        }

        /// Downloads a file from a server that is killed in the middle, and comes back.
        /// - Parameters:
        ///   - prepare: Changes the file before the download.
        ///   - change: Changes the file while the server is down.
        private func checkKill(
            _ server: WebServers, _ wire: Wire, prepare: (URL) throws -> Void = { _ in }, change: (URL) throws -> Void = { _ in }
        ) async throws -> (first: String?, last: (range: String?, condition: String?)?) {
            let server = try await server.running(), ranges = Ranges()
            let name = "killed-\(UUID().uuidString)", source = server.root.appending(path: name)
            try patternedData(3 << 20).write(to: source)
            try source.makeOlder()
            try prepare(source)
            try await withFolder { folder in
                let file = folder.appending(path: "file"), isInTheMiddle = TestGate()
                let request = try ranges.manager(wire).httpRequest(withUrl: server.at("/slow/\(name)"))
                let promise = request.downloadRequest(forSavedLocation: file)
                promise.onProgress { if $0.completedBytes > 1 << 20 { isInTheMiddle.open() } }
                await isInTheMiddle.wait()
                await server.process.stop()
                try change(source)
                try await server.process.startAgain()
                _ = try await promise.value
                let isSame = try Data(contentsOf: file) == Data(contentsOf: source)
                #expect(isSame)
            }
            return (ranges.log.entries.first?.range, ranges.log.entries.last)
        }

        @Test(
            "a download continues where it was after its server was killed", .needs(.nginx, .apache, .node), arguments: WebServers.allCases,
            Wire.allCases)
        func killed(server: WebServers, wire: Wire) async throws {
            let (first, last) = try await checkKill(server, wire)
            let range = try #require(last?.range), start = try #require(Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }))
            #expect(first == nil && start >= 1 << 20, "\(range)")
            #expect(last?.condition?.hasPrefix("\"") == true)
        }

        @Test(
            "a file that changed while its server was down is fetched from its start", .needs(.nginx, .apache, .node),
            arguments: WebServers.allCases)
        func changed(server: WebServers) async throws {
            // Shorter than what arrives before the server slows down.
            let (_, last) = try await checkKill(server, .curl, change: { try patternedData(1_500_000, seed: 2).write(to: $0) })
            #expect(last?.range != nil)
        }

        @Test("with the weak tag of a file that is still being changed, Apache's download starts over", .needs(.apache, .node))
        func weak() async throws {
            // In the future, so that the file counts as new for as long as the row takes. The second version fits into what arrives at
            // once.
            let (_, last) = try await checkKill(
                .apache, .curl,
                prepare: {
                    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: 3_600)], ofItemAtPath: $0.path)
                }, change: { try patternedData(1_500_000, seed: 2).write(to: $0) })
            #expect(last != nil && last?.range == nil)
        }

        @Test(
            "Node drops the connection: with a strong tag the download continues, with a weak one it starts over", .needs(.node),
            arguments: Wire.allCases)
        func node(wire: Wire) async throws {
            let node = try await Servers.get(Node.self)
            for tag in ["\"strong\"", "W/\"weak\""] {
                // The server cuts the first response with each tag.
                let query: URLQuery = ["tag": tag.dropLast() + wire.rawValue + "\"", "cut": 1_000_000]
                let ranges = Ranges()
                try await withFolder { folder in
                    let file = folder.appending(path: "file")
                    let request = try ranges.manager(wire).httpRequest(withUrl: node.at("/file")).set(urlParameters: query)
                    let result = try await request.downloadRequest(forSavedLocation: file).value
                    #expect(try await digest(of: file) == result.message.headers["X-Digest"])
                }
                let second = try #require(ranges.log.entries.last)
                #expect(ranges.log.entries.count == 2)
                #expect((second.range == "bytes=1000000-\((3 << 20) - 1)") == (tag.first == "\""), "\(tag) \(second)")
                #expect((second.range == nil) == (tag.first == "W"))
            }
        }

        @Test(
            "four segments make one file, and an unchanged file is not fetched again", .needs(.nginx, .apache, .node),
            arguments: WebServers.allCases, Wire.allCases)
        func segments(server: WebServers, wire: Wire) async throws {
            let server = try await server.running(), ranges = Ranges(), ness = try ranges.manager(wire)
            let name = "segments-\(wire.rawValue)", source = server.root.appending(path: name)
            try patternedData(3 << 20).write(to: source)
            try source.makeOlder()
            try await withFolder { folder in
                let file = folder.appending(path: "file"), request = ness.httpRequest(withUrl: server.at("/\(name)"))
                _ = try await request.downloadRequest(forSavedLocation: file, segments: 4).value
                var isSame = try Data(contentsOf: file) == Data(contentsOf: source)
                // The first byte tells the version and the length; all segments are parts of that version.
                #expect(isSame && ranges.log.entries.count == 5)
                #expect(ranges.log.entries.dropFirst().allSatisfy { $0.range != nil && $0.condition?.first == "\"" })
                let conditional = folder.appending(path: "conditional")
                for step in 0..<3 {
                    if step == 2 { try patternedData(1 << 20, seed: 3).write(to: source) }
                    let result = try await request.downloadRequestIfChanged(forSavedLocation: conditional).value
                    if case .unchanged = result { #expect(step == 1) } else { #expect(step != 1) }
                }
                isSame = try Data(contentsOf: conditional) == Data(contentsOf: source)
                #expect(isSame)
            }
        }
    }
}
#endif
