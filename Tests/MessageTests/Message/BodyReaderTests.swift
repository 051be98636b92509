import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Readers of bodies from sequences and slices, without a transport.
@Suite(.inTurn(.withoutSockets)) struct BodyReaderTests {
    private func whole(_ body: HTTPBody, by size: Int = 1 << 16) async throws -> Data {
        let reader = try await body.resolved().makeReader()
        var whole = Data()
        while case let piece = try await reader.next(upTo: size), !piece.isEmpty {
            #expect(piece.count <= max(1, size) && piece.startIndex == 0)
            whole += piece
        }
        // The end stays the end.
        #expect(try await reader.next(upTo: size).isEmpty)
        return whole
    }

    private func failure(_ body: HTTPBody) async -> TransportError? {
        await #expect(throws: TransportError.self) { _ = try await whole(body) }
    }

    @Test("a sequence is read in order, with pieces of any size", arguments: [0, 1, 7, 1_000, Int.max])
    func order(size: Int) async throws {
        let pieces = [Data(), patternedData(10), Data(), Data(), patternedData(100_000).dropFirst(3), Data([1]), Data()]
        let expected = pieces.reduce(Data(), +)
        #expect(try await whole(.stream(Pieces(pieces)), by: size) == expected)
        #expect(try await whole(.stream(Pieces(pieces), length: Int64(expected.count)), by: size) == expected)
        #expect(try await whole(.stream(Pieces([]))).isEmpty)
    }

    @Test("the next piece of a sequence is requested only when the previous one was read to its end")
    func lookAhead() async throws {
        let pieces = Pieces { _ in patternedData(100) }
        let reader = try await HTTPBody.stream(pieces).resolved().makeReader()
        #expect(pieces.asked.total == 0)
        for round in 1...5 {
            for part in 1...10 {
                _ = try await reader.next(upTo: 10)
                // The piece has more bytes: nobody has asked for the next one.
                if part < 10 { #expect(pieces.asked.total == round) }
            }
            await pieces.asked.wait(for: round + 1)
        }
    }

    @Test("a piece of a gigabyte is read without a copy of the whole")
    func huge() async throws {
        let size = 1 << 30
        let reader = try await HTTPBody.stream(Pieces { $0 == 0 ? Data(count: size) : nil }, length: Int64(size)).resolved().makeReader()
        var count = 0
        while case let piece = try await reader.next(upTo: 1 << 20), !piece.isEmpty { count += piece.count }
        #expect(count == size)
    }

    @Test(
        "a sequence that produces another number of bytes than announced is an error that names both",
        arguments: [
            (9, [10], "more than the 9 bytes"), (9, [5, 5], "more than the 9 bytes"), (10, [5, 5, 0, 1], "more than the 10 bytes"),
            (0, [1], "more than the 0 bytes"), (0, [0, 0, 1], "more than the 0 bytes"), (11, [10], "after 10 of 11 bytes"),
            (1, [], "after 0 of 1 bytes"), (1, [0], "after 0 of 1 bytes"), (.max, [5, 5], "after 10 of 9223372036854775807 bytes"),
            (-1, [], "negative"),
        ] as [(Int64, [Int], String)])
    func wrongLength(length: Int64, sizes: [Int], reason: String) async throws {
        let error = await failure(.stream(Pieces(sizes.map { Data(count: $0) }), length: length))
        #expect(error?.kind == .invalidRequest && error?.reason.contains(reason) == true)
    }

    @Test("the last bytes of a known length are returned only when the sequence has ended")
    func withheld() async throws {
        let end = TestGate(), pieces = Pieces([Data(count: 5), Data(count: 5)], then: end)
        let reader = try await HTTPBody.stream(pieces, length: 10).resolved().makeReader()
        #expect(try await reader.next(upTo: 100).count == 5)
        await pieces.asked.wait(for: 3)
        guard case .pending = try reader.step(upTo: 100) else {
            Issue.record("the last piece came early")
            return
        }
        end.open()
        #expect(try await reader.next(upTo: 100).count == 5)
        #expect(try await reader.next(upTo: 100).isEmpty)
    }

    @Test("lengths whose sum has no 64 bits are an error")
    func impossible() async throws {
        let segments = ([.max, 1] as [Int64]).flatMap { HTTPBody.stream(Pieces([]), length: $0).segments }
        #expect(await failure(HTTPBody(segments: segments, headers: [:]))?.kind == .invalidRequest)
    }

    private static let failing: [HTTPBody] = [
        .stream { () async throws -> Pieces in throw Rejected() },
        .stream(Pieces { number in if number == 1 { throw Rejected() } else { Data(count: 3) } }),
        .stream(Pieces { _ in throw CancellationError() }),
    ]

    @Test("an error of the sequence, even a cancellation, or of the closure that makes it, is the cause", arguments: 0..<3)
    func fails(number: Int) async throws {
        let error = await failure(Self.failing[number])
        #expect(error?.kind == .invalidRequest)
        #expect(number == 2 ? error?.underlying is CancellationError : error?.underlying as? Rejected == Rejected())
    }

    @Test("a sequence is read once; one that a closure makes, any number of times")
    func once() async throws {
        let content = patternedData(1_000)
        let once = HTTPBody.stream(Pieces([content])), again = HTTPBody.stream { Pieces([content]) }
        #expect(!once.isSpent)
        // A reader that was never used has not read the sequence.
        _ = once.makeReader()
        #expect(try await whole(once) == content)
        #expect(once.isSpent && !again.isSpent)
        let error = await failure(once)
        #expect(error?.kind == .invalidRequest && error?.reason.contains("only once") == true)
        for _ in 0..<3 { #expect(try await whole(again) == content) }
        #expect(!again.isSpent)
    }

    @Test("of two readers of a sequence that can be read once, one gets all of it and the other an error")
    func twoReaders() async throws {
        let body = try await HTTPBody.stream(Pieces([patternedData(10)])).resolved()
        let first = body.makeReader(), second = body.makeReader()
        #expect(try await first.next(upTo: 4).count == 4)
        let error = await #expect(throws: TransportError.self) { _ = try await second.next(upTo: 4) }
        #expect(error?.kind == .invalidRequest)
        #expect(try await first.next(upTo: 100).count == 6)
    }

    @Test("a reader that never waits rejects a sequence")
    func synchronous() async throws {
        let body = try await HTTPBody(
            segments: [.data(Data("ab".utf8))] + HTTPBody.stream(Pieces([Data("c".utf8)])).segments, headers: [:]
        ).resolved()
        let reader = body.makeReader()
        for _ in 0..<3 { #expect(throws: TransportError.self) { _ = try reader.read(upTo: 10) } }
        #expect(try await reader.next(upTo: 10) == Data("ab".utf8))
        #expect(try await reader.next(upTo: 10) == Data("c".utf8))
    }

    @Test("a reader that is canceled returns immediately, and so does the sequence that waits")
    func cancelled() async throws {
        let stuck = StuckPieces(after: 0)
        let body = try await HTTPBody.stream(stuck.pieces).resolved()
        let task = Task { _ = try await body.makeReader().next(upTo: 1) }
        await stuck.waits.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await stuck.pieces.cancelled.wait()
        stuck.never.open()
    }

    @Test("releasing a reader ends the task of a sequence whose piece nobody takes")
    func released() async throws {
        let ended = TestGate()
        let body = HTTPBody.stream {
            AsyncThrowingStream<Data, any Error> { continuation in
                continuation.onTermination = { _ in ended.open() }
                for _ in 0..<10 { continuation.yield(Data(count: 10)) }
            }
        }
        var reader: HTTPBodyReader? = body.makeReader()
        #expect(try await reader?.next(upTo: 1).count == 1)
        reader = nil
        await ended.wait()
    }

    @Test("releasing a reader cancels a closure that wrote two pieces at the same time, and continued after the error")
    func releasedAfterOverlap() async throws {
        struct Shared: @unchecked Sendable { let writer: HTTPBodyWriter }
        let failed = TestGate(), cancelled = TestGate(), never = DeafGate()
        let write: @Sendable (HTTPBodyWriter) async throws -> Void = { writer in
            let shared = Shared(writer: writer)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        do { try await shared.writer.write(Data(count: 10)) } catch { failed.open() }
                    }
                }
            }
            await withTaskCancellationHandler {
                await never.wait()
            } onCancel: {
                cancelled.open()
            }
        }
        var reader: HTTPBodyReader? = HTTPBody.stream(write).makeReader()
        // Starts the closure. At most one byte is taken, so the first write still waits when the second one starts.
        _ = try? reader?.step(upTo: 1)
        await failed.wait()
        reader = nil
        await cancelled.wait()
        never.open()
    }

    @Test("a sequence that is canceled before its bytes are read is an error, never the end of the body", arguments: [true, false])
    func discarded(isLengthKnown: Bool) async throws {
        let reader = HTTPBody.stream(Pieces([Data(count: 5)]), length: isLengthKnown ? 5 : nil).makeReader()
        let producer = try #require(reader.producers.first)
        _ = try reader.step(upTo: 1)
        try await producer.untilReady()
        producer.cancel()
        #expect(throws: CancellationError.self) { _ = try reader.step(upTo: 5) }
    }

    @Test("bodies with a sequence have the announced length, no bytes in memory, and equal no other")
    func properties() {
        let one = HTTPBody.stream(Pieces([]), length: 5), other = HTTPBody.stream(contentType: "text/csv") { Pieces([]) }
        #expect(one.length == 5 && other.length == nil && one.data == nil)
        #expect(one != one && other != other)
        #expect(one.headers["Content-Type"] == "application/octet-stream" && other.headers["Content-Type"] == "text/csv")
        #expect("\(other)".hasPrefix("some bytes"))
    }

    // MARK: slices

    @Test(
        "a slice of a file has the bytes from its offset on",
        arguments: [(0, nil), (0, 0), (0, 1_000), (10, 5), (999, nil), (1_000, nil), (1_000, 0), (500, 500)] as [(Int64, Int64?)])
    func slice(offset: Int64, length: Int64?) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("f")
            try patternedData(1_000).write(to: file)
            let body = HTTPBody(file: file, offset: offset, length: length)
            let expected = patternedData(1_000).dropFirst(Int(offset)).prefix(Int(length ?? 1_000))
            #expect(try await body.resolved().length == Int64(expected.count))
            for size in [1, 7, 1_000, Int.max] { #expect(try await whole(body, by: size) == expected) }
            #expect(body.length == length)
        }
    }

    @Test(
        "a slice that the file does not have is an error",
        arguments: [(-1, nil), (0, -1), (0, 11), (10, 1), (11, nil), (11, 0), (1, .max), (.max, 1), (.max, nil)] as [(Int64, Int64?)])
    func noSlice(offset: Int64, length: Int64?) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("f")
            try patternedData(10).write(to: file)
            let error = await failure(HTTPBody(file: file, offset: offset, length: length))
            #expect(error?.kind == .invalidRequest)
        }
    }

    @Test("a file that shrinks after the slice was chosen is an error")
    func shrunk() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("f")
            try patternedData(1_000).write(to: file)
            let body = try await HTTPBody(file: file, offset: 100, length: 800).resolved()
            try patternedData(200).write(to: file)
            let reader = body.makeReader()
            #expect(try reader.read(upTo: 1_000).count == 100)
            let error = #expect(throws: TransportError.self) { _ = try reader.read(upTo: 1_000) }
            #expect(error?.reason.contains("became shorter") == true)
        }
    }

    @Test("slices are equal if file, offset and length are")
    func sliceIdentity() throws {
        let file = try url("file:///a"), other = try url("file:///b")
        let slice = HTTPBody(file: file, offset: 1, length: 2)
        #expect(slice == HTTPBody(file: file, offset: 1, length: 2))
        #expect(slice != HTTPBody(file: other, offset: 1, length: 2) && slice != HTTPBody(file: file, offset: 1, length: 3))
        #expect(slice != HTTPBody(file: file, offset: 2, length: 2) && slice != HTTPBody(file: file))
        #expect(HTTPBody(file: file, offset: 1) != HTTPBody(file: file) && HTTPBody(file: file, offset: 0) == HTTPBody(file: file))
    }
}
