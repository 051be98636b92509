import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Jobs that want the same partial file. No test shares a path with another one.
@Suite(.inTurn(.withoutSockets)) struct DownloadJobTests {
    @Test("equal downloads get the file in the order of arrival; a dropped one leaves immediately", arguments: [false, true])
    func order(isShared: Bool) async throws {
        let path = Self.path(), order = Log<Int>(), gates = (0..<4).map { _ in TestGate() }, shared = Self.job()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<4 {
            let job = isShared ? shared : Self.job()
            tasks.append(
                Task {
                    try await job.claim(path, for: Self.identity("s")) {
                        order.add(number)
                        await gates[number].wait()
                    }
                })
            // Each waiter is queued before the next one arrives.
            if number == 0 { await order.wait(for: 1) } else { await untilTrue { DownloadJob.waitingCount(path) == number } }
        }
        tasks[2].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[2].value }
        #expect(DownloadJob.waitingCount(path) == 2 && order.entries == [0])
        for number in [0, 1, 3] {
            gates[number].open()
            try await tasks[number].value
        }
        #expect(order.entries == [0, 1, 3])
    }

    @Test("a download of another source waits for a dropped one, but a third one does not wait for it")
    func mixed() async throws {
        let path = Self.path(), begun = Tally(), gate = TestGate(), next = TestGate(), dropped = Self.job()
        let first = await Self.hold(path, dropped, until: gate)
        // An immediate handler of the end may start the next download, before the run notices the drop.
        dropped.detach()
        let others = ["t", "t"].enumerated().map { index, source in
            Task {
                await untilTrue { DownloadJob.waitingCount(path) == index }
                try await Self.job().claim(path, for: Self.identity(source)) {
                    begun.enter()
                    await next.wait()
                }
            }
        }
        await untilTrue { DownloadJob.waitingCount(path) == 2 }
        // Its file is no longer that of the dropped download.
        await #expect(throws: FileError.self) { try await Self.job().claim(path, for: Self.identity("s")) {} }
        #expect(DownloadJob.waitingCount(path) == 2 && begun.total == 0)
        gate.open()
        try await first.value
        next.open()
        for other in others { try await other.value }
        #expect(DownloadJob.waitingCount(path) == 0 && begun.total == 2)
    }

    @Test("a job waits for an earlier run of its own callers, even for one of another source") func sameCallers() async throws {
        let path = Self.path(), gate = TestGate(), job = Self.job()
        let first = await Self.hold(path, job, until: gate)
        let next = Task { try await job.claim(path, for: Self.identity("t")) { 2 } }
        await untilTrue { DownloadJob.waitingCount(path) == 1 }
        gate.open()
        try await first.value
        #expect(try await next.value == 2)
    }

    @Test("a job keeps its file between two runs, until the last of its callers has ended") func kept() async throws {
        let path = Self.path(), job = Self.job(), equal = Self.job(), other = Self.job()
        job.attach()
        try await job.claim(path, for: Self.identity("s")) {}
        job.detach()
        await #expect(throws: FileError.self) { try await other.claim(path, for: Self.identity("t")) {} }
        // An equal download need not wait for a resume, and takes nothing from the paused one.
        #expect(try await equal.claim(path, for: Self.identity("s")) { 1 } == 1)
        equal.detach()
        await #expect(throws: FileError.self) { try await other.claim(path, for: Self.identity("t")) {} }
        // A job that has moved to another file keeps that one alone.
        let elsewhere = Self.path()
        try await job.claim(elsewhere, for: Self.identity("s")) {}
        await #expect(throws: FileError.self) { try await other.claim(elsewhere, for: Self.identity("t")) {} }
        job.detach()
        #expect(try await other.claim(elsewhere, for: Self.identity("t")) { 2 } == 2)
        // A file that no job uses takes no memory.
        #expect(DownloadJob.waitingCount(path) == nil && DownloadJob.waitingCount(elsewhere) == 0)
        other.detach()
        #expect(DownloadJob.waitingCount(elsewhere) == nil)
    }

    @Test("a run whose callers have ended before it started does not get the file") func withoutCallers() async throws {
        let path = Self.path(), job = Self.job()
        job.detach()
        await #expect(throws: CancellationError.self) { try await job.claim(path, for: Self.identity("s")) {} }
        #expect(try await Self.job().claim(path, for: Self.identity("t")) { 1 } == 1)
    }

    /// Starts a run of the source "s" that keeps the file until a gate opens. Returns when it has the file.
    private static func hold(_ path: String, _ job: DownloadJob, until gate: TestGate) async -> Task<Void, any Error> {
        let begun = TestGate()
        let task = Task {
            try await job.claim(path, for: identity("s")) {
                begun.open()
                await gate.wait()
            }
        }
        await begun.wait()
        return task
    }

    private static func path() -> String { "/\(UUID())" }

    private static func identity(_ source: String) -> DownloadIdentity { DownloadIdentity(source: source, method: .get, body: []) }

    /// Makes a job with one caller.
    private static func job() -> DownloadJob {
        let job = DownloadJob()
        job.attach()
        return job
    }
}
