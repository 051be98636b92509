import Foundation
import NessHTTP
import NessLock

/// Small programs about readers that are slower than the server, and servers that are slower than the body they read.
enum ReaderPrograms {
    /// The bytes that the client has accepted, and those that the reader has taken.
    private final class Flow: Sendable {
        private let state = Lock((accepted: 0, read: 0, most: 0))

        func accept(_ count: Int) {
            state.withLock { state in
                state.accepted += count
                state.most = max(state.most, state.accepted - state.read)
            }
        }
        func read(_ count: Int) { state.withLock { $0.read += count } }

        var accepted: Int { state.withLock { $0.accepted } }
        /// The most bytes that waited at one time. One chunk may be on its way to the reader.
        var mostWaiting: Int { state.withLock { $0.most } }
    }

    private static let mostWaiting = (1 << 20) + LargeBody.chunk

    /// Serves a large body, and a short one at `/probe`.
    private static func serve(_ connection: Connection, _ flow: Flow) async throws {
        if connection.request.url.path == "/probe" { return try await connection.respond(200, [:], "ok") }
        try await connection.report(.head(statusCode: 200, headers: ["Content-Length": "\(LargeBody.chunk * LargeBody.chunkCount)"]))
        for index in 0..<LargeBody.chunkCount {
            try await connection.report(.body(LargeBody.piece(index, 1)))
            flow.accept(LargeBody.chunk)
        }
    }

    private static func isWhole(_ body: Data) -> Bool { LargeBody.version(of: body) == 1 }

    static let all: [SmallProgram] = [
        SmallProgram("slow-reader", "a slow reader gets the whole body, at most 1 MiB waits in memory, and the idle timeout does not pass")
        {
            stage in
            let flow = Flow()
            let ness = stage.manager(serve: { try await serve($0, flow) }) { $0.timeout = .milliseconds(500) }
            let promise = ness.httpRequest(withUrl: Stage.url).streamRequest()
            var body = Data()
            let stop = Int.random(in: 1...LargeBody.chunkCount)
            for try await chunk in promise.chunks {
                flow.read(chunk.count)
                body.append(chunk)
                if body.count >= stop * LargeBody.chunk, body.count < (stop + 1) * LargeBody.chunk {
                    try await Task.sleep(for: .seconds(100))
                }
                if Int.random(in: 0..<8) == 0 { try await Task.sleep(for: .seconds(1)) }
            }
            stage.expect(isWhole(body), "the body has \(body.count) bytes")
            stage.expect(flow.mostWaiting <= mostWaiting, "\(flow.mostWaiting) bytes waited")
        },
        SmallProgram("reader-that-stops", "a reader that stops holds its own slot only, and a drop frees it") { stage in
            let flow = Flow()
            let ness = stage.manager(serve: { try await serve($0, flow) }) { $0.maximumConnectionsPerHost = 2 }
            let promise = ness.httpRequest(withUrl: Stage.url).streamRequest()
            let (first, another) = (try await promise.chunks.first { _ in true }, Bool.random())
            stage.expect(first?.count == LargeBody.chunk, "the first chunk has \(first?.count ?? 0) bytes")
            // Leaving the loop above has closed the connection. A second stream is not read at all.
            var idle: StreamPromise? = ness.httpRequest(withUrl: Stage.url).streamRequest()
            _ = try await idle?.value
            let start = ContinuousClock.now
            stage.expect(try await stage.crowd(ness, ["https://a.test/probe", "https://a.test/probe?2"], drops: false), in: ["ok"])
            stage.expect(ContinuousClock.now - start < .seconds(1), "the neighbors waited for \(ContinuousClock.now - start)")
            try await Task.sleep(for: .seconds(1_000))
            stage.expect(flow.accepted <= 2 * mostWaiting, "\(flow.accepted) bytes were accepted")
            if another { idle?.drop() }
            idle = nil
            ness.maximumConnectionsPerHost = 1
            await stage.expectIdle(ness, "https://a.test/probe?3")
        },
        SmallProgram("reader-and-deadline", "the deadline passes while the reader holds the server back, and frees the slot") { stage in
            let flow = Flow()
            let ness = stage.manager(serve: { try await serve($0, flow) }) { $0.maximumConnectionsPerHost = 1 }
            let promise = ness.httpRequest(withUrl: Stage.url).set(deadline: .seconds(1)).streamRequest()
            var count = 0
            do {
                for try await chunk in promise.chunks {
                    count += chunk.count
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...200)))
                }
                stage.expect(count == LargeBody.chunk * LargeBody.chunkCount, "\(count) bytes were read")
            } catch {
                stage.expect([Stage.kind(error)], in: ["timedOut"])
            }
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("slow-reader-and-drop", "a stream that is dropped while the server is held back ends its reader, and frees its slot") {
            stage in
            let flow = Flow()
            let ness = stage.manager(serve: { try await serve($0, flow) }) { $0.maximumConnectionsPerHost = 1 }
            let promise = ness.httpRequest(withUrl: Stage.url).streamRequest()
            let reader = Task {
                var body = Data()
                for try await chunk in promise.chunks {
                    flow.read(chunk.count)
                    body.append(chunk)
                    if Bool.random() { try? await Task.sleep(for: .milliseconds(1)) }
                }
                return body
            }
            try await stage.moment()
            if Bool.random() { promise.drop() } else { reader.cancel() }
            do {
                let body = try await reader.value
                stage.expect(isWhole(body), "the body has \(body.count) bytes")
            } catch {
                stage.expect([Stage.kind(error)], in: ["dropped"])
            }
            stage.expect(flow.mostWaiting <= mostWaiting, "\(flow.mostWaiting) bytes waited")
            await stage.expectIdle(ness, "https://a.test/probe")
        },
        SmallProgram("two-readers", "two loops over one stream get each byte once, in order") { stage in
            let flow = Flow()
            let ness = stage.manager(serve: { try await serve($0, flow) })
            let promise = ness.httpRequest(withUrl: Stage.url).streamRequest()
            let parts = Lock<[Int]>([])
            let read: @Sendable () async throws -> Void = {
                var last = -1
                for try await chunk in promise.chunks {
                    let index = Int(String(decoding: chunk.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)) ?? -1
                    stage.expect(index > last, "chunk \(index) came after chunk \(last)")
                    last = index
                    parts.withLock { $0.append(index) }
                    if Bool.random() { try await Task.sleep(for: .milliseconds(1)) }
                }
            }
            try await stage.together(read, read)
            let all = parts.withLock { $0.sorted() }
            stage.expect(all == Array(0..<LargeBody.chunkCount), "the chunks are \(all)")
        },
        SmallProgram("body-and-slow-server", "the next piece of a body is read only after the server has taken the last one") { stage in
            let made = Lock(0), taken = Lock(0), most = Lock(0)
            let stops = Bool.random() ? Int.random(in: 0...8) : .max
            let ness = stage.manager(serve: { connection in
                if connection.request.url.path == "/probe" { return try await connection.respond(200, [:], "ok") }
                guard let reader = connection.request.body?.makeReader() else { return try await connection.respond(400) }
                var count = 0
                while taken.withLock({ $0 }) < stops {
                    let piece = try await reader.next(upTo: 1 << 20)
                    if piece.isEmpty { break }
                    count += piece.count
                    taken.withLock { $0 += 1 }
                    if Bool.random() { try await connection.wait(.milliseconds(5)) }
                }
                // A server may respond before it has read the whole body.
                try await connection.respond(stops == .max && count != 8_000 ? 500 : 200, [:], "ok")
            }) { $0.maximumConnectionsPerHost = 1 }
            let pieces = AsyncStream<Data> {
                let number = made.increment()
                most.withLock { $0 = max($0, number - taken.withLock { $0 }) }
                return number > 8 ? nil : Data(repeating: UInt8(number), count: 1_000)
            }
            let promise = ness.httpRequest(.post, withUrl: Stage.url).set(streamBody: pieces).dataRequest()
            try await stage.meet(
                { stage.expect([await stage.outcome(of: promise)], in: ["ok", "dropped"]) },
                { if Int.random(in: 0..<4) == 0 { promise.drop() } })
            // The reader has taken a piece before the server counts it.
            stage.expect(most.withLock { $0 } <= 2, "\(most.withLock { $0 }) pieces were in memory")
            await stage.expectIdle(ness, "https://a.test/probe")
        },
    ]
}
