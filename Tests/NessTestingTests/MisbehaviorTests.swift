import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct MisbehaviorTests {
    @Test("names of misbehaviors are unique and in kebab case") func namesAreUniqueKebabCaseAndManyEnough() {
        let names = Misbehavior.all.map(\.name)
        #expect(names.count >= 60)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.allSatisfy { $0 == "-" || $0.isNumber || ($0.isLowercase && $0.isASCII) }, "\(name)")
        }
        #expect(Misbehavior.all.allSatisfy { $0.summary.hasSuffix(".") })
        #expect(Misbehavior.named("gzip-bomb")?.expectation == .tooLarge)
        #expect(Misbehavior.named("none") == nil)
    }

    /// Runs every entry against a client that sends, closes its sending side and reads. Each entry must then end, and leave no connection
    /// behind.
    @Test("every misbehavior runs, ends and leaves no connection behind", arguments: Misbehavior.all)
    func everyEntryRunsAndEnds(misbehavior: Misbehavior) async throws {
        let server = try await TestServer.start(misbehavior)
        let limit = 2 << 20
        let texts = try await offPool {
            try (1...misbehavior.requestCount).map { _ in
                let client = try RawClient(port: server.port)
                client.send(get)
                client.closeWriting()
                return client.readToEnd(limit: limit).text
            }
        }
        let count = misbehavior.requestCount
        #expect(await server.waitUntil { $0.openConnections == 0 && $0.connectionCount == count })
        if case .success(let status, let body) = misbehavior.expectation, count == 1 {
            #expect(texts[0].contains(" \(status) "))
            if !texts[0].contains("Content-Encoding"), !misbehavior.name.hasPrefix("chunk"), !misbehavior.name.hasSuffix("chunks") {
                #expect(body.isEmpty || texts[0].contains(body))
            }
        }
        await server.stop()
    }

    @Test("a misbehavior that stalls does so until the server stops") func stallsStallUntilTheServerStops() async throws {
        for misbehavior in Misbehavior.all where misbehavior.expectation == .timesOut && misbehavior.requestCount == 1 {
            let server = try await TestServer.start(misbehavior)
            let client = try await offPool {
                let client = try RawClient(port: server.port)
                client.send(get)
                return client
            }
            #expect(await server.waitUntil { $0.bytesReceived == get.utf8.count }, "\(misbehavior)")
            #expect(server.openConnections == 1, "\(misbehavior)")
            await server.stop()
            _ = client
        }
    }
}
