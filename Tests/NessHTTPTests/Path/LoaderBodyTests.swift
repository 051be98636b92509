import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Loaders that read a body, and one that sends requests itself.
@Suite(.inTurn(.withoutSockets)) struct LoaderBodyTests {
    /// Adds the number of the body's bytes as a field, as the guide for loaders shows.
    private struct BodySize: HTTPLoader {
        func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
            guard let reader = request.body?.makeReader() else { return try await next(request) }
            var count = 0
            while case let chunk = try await reader.next(upTo: 3), !chunk.isEmpty { count += chunk.count }
            var request = request
            request.headers["X-Body-Size"] = "\(count)"
            return try await next(request)
        }
    }

    private func chunks() -> AsyncStream<Data> {
        AsyncStream { continuation in
            for chunk in ["abcd", "ef"] { continuation.yield(Data(chunk.utf8)) }
            continuation.finish()
        }
    }

    @Test("a loader can read the body of a request, which still sends all of it", arguments: [LoaderPlace.call, .attempt, .exchange])
    func bodies(place: LoaderPlace) async throws {
        try await withFolder { folder in
            let rig = Rig(onUnmatched: .reply(.status(200))) { $0.insert(BodySize(), at: place) }
            let file = folder.appendingPathComponent("a")
            try Data("abcdef".utf8).write(to: file)
            let post = rig.ness.post("x")
            for request in [
                post.set(stringBody: "abcdef"), post.set(jsonBody: .string("abcd")), post.set(body: HTTPBody(file: file)),
                post.set(streamBody: { chunks() }),
            ] {
                rig.mock.forgetRequests()
                _ = try await request.response()
                #expect(rig.mock.received.map { $0.headers["X-Body-Size"] } == ["6"] && rig.mock.received.first?.body.count == 6)
            }
            // A sequence that can be sent only once is used up. A compressed file is only made when the request is sent.
            for request in [post.set(streamBody: chunks()), post.set(body: HTTPBody(file: file)).set(gzipsBody: true)]
            where place != .exchange {
                #expect(await request.dataRequest().nessError()?.kind == .invalidRequest)
            }
        }
    }

    @Test("a loader at the exchange holds its slot: a request that it sends to the same host needs another one, or none")
    func slot() async throws {
        struct Nested: HTTPLoader {
            let send: @Sendable () async throws -> Void

            func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
                if request.url.path == "/outer" { try await send() }
                return try await next(request)
            }
        }
        for skipsQueue in [false, true] {
            let manager = Lock<Ness?>(nil)
            let rig = Rig(advances: false, onUnmatched: .reply(.status(200))) {
                $0.maximumConnectionsPerHost = 1
                $0.insert(
                    Nested {
                        guard let ness = manager.withLock({ $0 }) else { return }
                        let inner = ness.get("inner")
                        _ = try await (skipsQueue ? inner.withoutQueueing() : inner).response()
                    }, at: .exchange)
            }
            manager.withLock { $0 = rig.ness }
            defer { manager.withLock { $0 = nil } }
            let outer = rig.ness.get("outer").set(timeout: .seconds(5)).dataRequest()
            if skipsQueue {
                _ = try await outer.value
            } else {
                try await rig.ness.waitForRequests(1, at: .hostQueue)
                rig.clock.advance(by: .seconds(5))
                #expect(await outer.nessError()?.kind == .timedOut)
            }
        }
    }
}
