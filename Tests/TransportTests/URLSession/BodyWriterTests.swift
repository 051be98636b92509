import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// A stream with as much room as a test gives it, like one of a bound pair, whose other end reads slowly.
///
/// On Apple platforms `Stream` is abstract: a subclass that does not override a property that the code uses, such as `delegate`, ends the
/// process. The initializers are inherited, because only Foundation on Linux requires `init(toMemory:)` to be overridden.
final class FakeOutputStream: OutputStream {
    private struct State: Sendable {
        var status = Stream.Status.notOpen
        var room = 0
        var written = Data()
        /// True if `write` takes nothing, although there seems to be room.
        var isFull = false
    }

    private let state = Lock(State())
    private let changed = ChangeSignal()

    var written: String { state.withLock { String(decoding: $0.written, as: UTF8.self) } }
    func give(room: Int) { state.withLock { $0.room += room } }
    func fill(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }
    func wait(for text: String) async { await changed.wait { written == text } }
    func waitUntilClosed() async { await changed.wait { streamStatus == .closed } }

    // `BodyWriter` calls its stream's delegate itself in these tests.
    override var delegate: (any StreamDelegate)? {
        get { nil }
        set {}
    }
    override var streamStatus: Stream.Status { state.withLock { $0.status } }
    override var hasSpaceAvailable: Bool { state.withLock { $0.room > 0 } }
    override func open() { state.withLock { $0.status = .open } }
    override func close() {
        state.withLock { $0.status = .closed }
        changed.notify()
    }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        let count = state.withLock { state in
            guard !state.isFull else { return 0 }
            let count = min(length, state.room)
            state.room -= count
            state.written += Data(bytes: buffer, count: count)
            return count
        }
        changed.notify()
        return count
    }
}

/// The body of a request on its way into a stream, as on Apple platforms.
@Suite(.inTurn(.withoutSockets)) struct BodyWriterTests {
    private let stream = FakeOutputStream(toMemory: ())

    private func writer(_ body: HTTPBody, _ errors: Log<String> = Log()) -> BodyWriter {
        let writer = BodyWriter(body.makeReader(), to: stream, pieceLength: 8) { errors.add("\($0)") }
        writer.open()
        return writer
    }

    /// Gives the stream room, and tells the writer.
    private func give(_ room: Int, to writer: BodyWriter) {
        stream.give(room: room)
        writer.queue.sync { writer.stream(stream, handle: .hasSpaceAvailable) }
    }

    @Test("a writer gives as much as the stream has room for, and ends the stream after the last byte")
    func room() {
        let text = "0123456789abcdefghij"
        let writer = writer(HTTPBody(Data(text.utf8)))
        #expect(stream.written.isEmpty)
        give(10, to: writer)
        #expect(stream.written == "0123456789" && stream.streamStatus == .open)
        give(10, to: writer)
        #expect(stream.written == text)
        give(1, to: writer)
        #expect(stream.streamStatus == .closed)
    }

    @Test("a stream that takes nothing although it reported room is not at its end; a closed one is", arguments: [false, true])
    func nothingTaken(isClosed: Bool) {
        let errors = Log<String>(), writer = writer(HTTPBody(Data("text".utf8)), errors)
        stream.fill(true)
        give(4, to: writer)
        #expect(stream.streamStatus == .open)
        if isClosed { stream.close() } else { stream.fill(false) }
        give(1, to: writer)
        #expect(stream.written == (isClosed ? "" : "text"))
        #expect(stream.streamStatus == .closed && errors.entries.isEmpty)
    }

    @Test("a piece of a sequence is written when it arrives, and the writer blocks no thread until then")
    func sequence() async {
        let gates = [TestGate(), TestGate()]
        let writer = writer(
            .stream(
                AsyncStream { continuation in
                    Task {
                        await gates[0].wait()
                        continuation.yield(Data("one".utf8))
                        await gates[1].wait()
                        continuation.yield(Data("two".utf8))
                        continuation.finish()
                    }
                }))
        give(100, to: writer)
        #expect(stream.written.isEmpty)
        gates[0].open()
        await stream.wait(for: "one")
        gates[1].open()
        await stream.wait(for: "onetwo")
        await stream.waitUntilClosed()
    }

    @Test("a file that became shorter fails the request, and its stream does not look whole")
    func shortFile() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("a")
            try Data("0123456789abcdef".utf8).write(to: file)
            let errors = Log<String>(), writer = writer(try await HTTPBody(file: file).resolved(), errors)
            give(8, to: writer)
            #expect(stream.written == "01234567")
            try OpenFile(file.path, O_RDWR).truncate(to: 8)
            give(8, to: writer)
            give(8, to: writer)
            #expect(errors.entries.count == 1 && errors.entries.first?.contains("shorter") == true)
            #expect(stream.streamStatus == .open)
            writer.close()
            writer.queue.sync {}
            #expect(stream.streamStatus == .closed)
        }
    }

    @Test("closing a writer stops the sequence, and later room is not used")
    func close() async {
        let stopped = TestGate()
        let writer = writer(.stream(AsyncStream<Data> { continuation in continuation.onTermination = { _ in stopped.open() } }))
        give(100, to: writer)
        writer.close()
        await stopped.wait()
        give(100, to: writer)
        #expect(stream.written.isEmpty && stream.streamStatus == .closed)
    }
}
