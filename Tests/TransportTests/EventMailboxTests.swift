import Foundation
import NessLock
import TestSupport
import Testing

@testable import NessHTTP

/// The mailbox between the thread that reads for a transport and the task that called `send`.
@Suite(.inTurn(.withoutSockets)) struct EventMailboxTests {
    private func batch(_ pieces: Int...) -> EventBatch {
        var batch = EventBatch()
        for count in pieces { batch.add(.body(Data(count: count))) }
        return batch
    }

    private func count(_ events: [TransportEvent]) -> Int {
        events.reduce(0) { sum, event in
            if case .body(let data) = event { sum + data.count } else { sum }
        }
    }

    @Test("events arrive in order, and the end follows them, once")
    func order() async throws {
        let mailbox = EventMailbox()
        var batch = EventBatch()
        batch.add(.sent(1))
        batch.add(.head(statusCode: 200, headers: [:]))
        batch.add(.body(Data("a".utf8)))
        #expect(mailbox.put(batch))
        var more = EventBatch()
        more.add(.sent(2))
        more.add(.body(Data("b".utf8)))
        #expect(mailbox.put(more, end: .success(())))
        // The end is final.
        #expect(!mailbox.put(more, end: .failure(Rejected())))
        #expect(mailbox.hasEnded)
        let taken = Log<String>()
        try await mailbox.deliver(to: { taken.add($0.text) }, resume: {})
        #expect(taken.entries == ["sent 1", "head 200", "a", "sent 2", "b"])
    }

    @Test("an exchange that is paused stays so while bytes wait in the file")
    func pausedWhileSpilled() async {
        let mailbox = EventMailbox(capacity: 10, spillLimit: 100)
        mailbox.put(batch(10))
        mailbox.put(batch(15))
        #expect(mailbox.room(besides: 0) == 0)
        var taken: [Int] = []
        while mailbox.isPaused {
            let batch = await mailbox.next()
            taken.append(count(batch.events))
            #expect(batch.resumesExchange == (taken.count == 3))
        }
        #expect(taken == [10, 10, 5])
        // Bytes in the file leave no room, even if none wait in memory.
        mailbox.put(batch(8))
        mailbox.put(batch(3))
        _ = await mailbox.next()
        #expect(mailbox.room(besides: 0) == 7)
    }

    @Test("small pieces of a body are joined; no piece becomes longer than the limit by it, and no byte is lost")
    func joined() {
        let data = patternedData(3 * EventBatch.pieceLimit)
        var batch = EventBatch(), start = 0
        var generator = SeededGenerator(seed: 7)
        while start < data.count {
            let end = min(data.count, start + Int.random(in: 1...40_000, using: &generator))
            if Bool.random(using: &generator) {
                batch.add(.body(data[start..<end]))
            } else {
                Array(data[start..<end]).withUnsafeBufferPointer { batch.add(body: $0) }
            }
            start = end
        }
        var whole = Data()
        for event in batch.events {
            guard case .body(let piece) = event else { continue }
            #expect(piece.count <= EventBatch.pieceLimit)
            whole += piece
        }
        #expect(whole == data && batch.byteCount == data.count && batch.events.count <= 5)
    }

    @Test("a full mailbox pauses the exchange, and the task that takes the bytes resumes it, once")
    func pause() async {
        let mailbox = EventMailbox(capacity: 100)
        #expect(mailbox.room(besides: 0) == 100)
        mailbox.put(batch(60))
        #expect(mailbox.room(besides: 10) == 30 && !mailbox.isPaused)
        #expect(mailbox.room(besides: 40) == 0 && mailbox.isPaused)
        let first = await mailbox.next()
        #expect(first.resumesExchange && count(first.events) == 60 && first.end == nil)
        #expect(mailbox.room(besides: 0) == 100 && !mailbox.isPaused)
        mailbox.put(batch(100))
        let second = await mailbox.next()
        #expect(!second.resumesExchange && count(second.events) == 100)
        // The exchange pauses although the mailbox is empty: the bytes of the present turn fill it.
        #expect(mailbox.room(besides: 100) == 0)
        let third = await mailbox.next()
        #expect(third.resumesExchange && third.events.isEmpty && third.end == nil)
    }

    @Test("a mailbox without a spill takes everything, because its owner asks for room")
    func unlimited() async {
        let mailbox = EventMailbox(capacity: 100)
        for _ in 0..<10 { #expect(mailbox.put(batch(60))) }
        #expect(count(await mailbox.next().events) == 600)
    }

    @Test("a task that waits is woken by events, by the end and by a cancellation", arguments: ["events", "end", "cancel"])
    func woken(by what: String) async {
        for _ in 0..<100 {
            let mailbox = EventMailbox()
            async let waiting = mailbox.next()
            switch what {
            case "events": mailbox.put(batch(5))
            case "end": mailbox.end(Rejected())
            default: mailbox.cancel(CancellationError())
            }
            let taken = await waiting
            #expect(count(taken.events) == (what == "events" ? 5 : 0))
            switch taken.end {
            case nil: #expect(what == "events")
            case .failure(let error): #expect(error is Rejected == (what == "end"))
            case .success: Issue.record("a success")
            }
        }
    }

    @Test("after a cancellation at any time no event is delivered, not even a pending one")
    func cancelled() async {
        // Before the first event, between two events of a batch, and after the end that the task has not seen.
        for moment in 0..<3 {
            let mailbox = EventMailbox(), taken = Log<Int>()
            mailbox.put(batch(EventBatch.pieceLimit, EventBatch.pieceLimit), end: moment == 2 ? .success(()) : nil)
            if moment != 1 { mailbox.cancel(CancellationError()) }
            await #expect(throws: CancellationError.self) {
                try await mailbox.deliver(
                    to: { _ in
                        taken.add(1)
                        if moment == 1 { mailbox.cancel(CancellationError()) }
                    }, resume: {})
            }
            #expect(taken.entries.count == (moment == 1 ? 1 : 0))
            #expect(!mailbox.put(batch(1)))
        }
    }

    @Test("the error of the receiver ends the delivery, and the first reason of a cancellation counts")
    func failing() async {
        let mailbox = EventMailbox()
        mailbox.put(batch(1))
        await #expect(throws: Rejected.self) { try await mailbox.deliver(to: { _ in throw Rejected() }, resume: {}) }
        mailbox.cancel(Rejected())
        mailbox.cancel(CancellationError())
        await #expect(throws: Rejected.self) { try await mailbox.next().end?.get() }
    }

    @Test("a writer that asks for room never has more than the capacity pending, and every byte arrives in order", arguments: [1, 7, 100])
    func bounded(capacity: Int) async throws {
        let mailbox = EventMailbox(capacity: capacity), data = patternedData(5_000), resumed = Log<Int>()
        let writer = Task {
            var start = 0, pauses = 0
            while start < data.count {
                let room = mailbox.room(besides: 0)
                guard room > 0 else {
                    pauses += 1
                    await resumed.wait(for: pauses)
                    continue
                }
                let end = min(data.count, start + room)
                var batch = EventBatch()
                batch.add(.body(data[start..<end]))
                mailbox.put(batch)
                start = end
            }
            mailbox.put(EventBatch(), end: .success(()))
        }
        let taken = Lock(Data())
        try await mailbox.deliver(
            to: { event in
                guard case .body(let data) = event else { return }
                #expect(data.count <= capacity)
                taken.withLock { $0 += data }
                await Task.yield()
            }, resume: { resumed.add(1) })
        await writer.value
        #expect(taken.withLock { $0 } == data)
    }

    // MARK: the spill

    @Test("bytes beyond the capacity wait in a file, and keep their order")
    func spill() async throws {
        let mailbox = EventMailbox(capacity: 1_000, spillLimit: 100_000), data = patternedData(90_000)
        var sent = 0
        for size in [900, 200, 300, 5_000, 80_000] {
            var batch = EventBatch()
            batch.add(.body(data[sent..<(sent + size)]))
            #expect(mailbox.put(batch))
            sent += size
        }
        var batch = EventBatch()
        batch.add(.sent(7))
        mailbox.put(batch, end: .failure(Rejected()))
        var read = Data(), end: Result<Void, any Error>?
        while end == nil {
            let taken = await mailbox.next()
            for event in taken.events {
                guard case .body(let piece) = event else { continue }
                #expect(piece.count <= 1_000)
                read += piece
            }
            end = taken.end
        }
        #expect(read == data.prefix(sent))
        #expect(throws: Rejected.self) { try end?.get() }
    }

    @Test("a spill that is full ends the exchange: the task gets the bytes that fit, then the error")
    func spillLimit() async {
        let mailbox = EventMailbox(capacity: 10, spillLimit: 100)
        #expect(mailbox.put(batch(10)) && mailbox.put(batch(100)))
        #expect(!mailbox.put(batch(1)) && !mailbox.put(batch(1)))
        let read = Log<Int>()
        await #expect(throws: ReceiverFellBehind.self) {
            try await mailbox.deliver(to: { read.add(self.count([$0])) }, resume: {})
        }
        #expect(read.entries.reduce(0, +) == 110)
    }
}
