import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn) struct MisbehaviourTests {
    @Test("names of misbehaviors are unique and in kebab case") func namesAreUniqueKebabCaseAndManyEnough() {
        let names = Misbehaviour.all.map(\.name)
        #expect(names.count >= 60)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.allSatisfy { $0 == "-" || $0.isNumber || ($0.isLowercase && $0.isASCII) }, "\(name)")
        }
        #expect(Misbehaviour.all.allSatisfy { $0.summary.hasSuffix(".") })
        #expect(Misbehaviour.named("gzip-bomb")?.expectation == .tooLarge)
        #expect(Misbehaviour.named("none") == nil)
    }

    /// Runs every entry against a client that sends, closes its sending side and reads. Each entry must then end, and leave no connection
    /// behind.
    @Test("every misbehavior runs, ends and leaves no connection behind", arguments: Misbehaviour.all)
    func everyEntryRunsAndEnds(misbehaviour: Misbehaviour) async throws {
        let server = try await TestServer.start(misbehaviour)
        let limit = 2 << 20
        let texts = try await offPool {
            try (1...misbehaviour.requestCount).map { _ in
                let client = try RawClient(port: server.port)
                client.send(get)
                client.closeWriting()
                return client.readToEnd(limit: limit).text
            }
        }
        let count = misbehaviour.requestCount
        #expect(await server.waitUntil { $0.openConnections == 0 && $0.connectionCount == count })
        if case .success(let status, let body) = misbehaviour.expectation, count == 1 {
            #expect(texts[0].contains(" \(status) "))
            if !texts[0].contains("Content-Encoding"), !misbehaviour.name.hasPrefix("chunk"), !misbehaviour.name.hasSuffix("chunks") {
                #expect(body.isEmpty || texts[0].contains(body))
            }
        }
        await server.stop()
    }

    @Test("a misbehavior that stalls does so until the server stops") func stallsStallUntilTheServerStops() async throws {
        for misbehaviour in Misbehaviour.all where misbehaviour.expectation == .timesOut && misbehaviour.requestCount == 1 {
            let server = try await TestServer.start(misbehaviour)
            let client = try await offPool {
                let client = try RawClient(port: server.port)
                client.send(get)
                return client
            }
            #expect(await server.waitUntil { $0.bytesReceived == get.utf8.count }, "\(misbehaviour)")
            #expect(server.openConnections == 1, "\(misbehaviour)")
            await server.stop()
            _ = client
        }
    }
}
