import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Downloads that want the same partial file.
@Suite(.inTurn(.withoutSockets)) struct PartialFileClaimsTests {
    @Test("equal downloads get the file in the order of arrival; a dropped one leaves immediately")
    func order() async throws {
        let destinations = PartialFileClaims(), order = Log<Int>(), gates = (0..<4).map { _ in TestGate() }
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<4 {
            tasks.append(
                Task {
                    try await destinations.withExclusiveAccess("p", fetching: Self.identity("s"), for: Self.callers()) {
                        order.add(number)
                        await gates[number].wait()
                    }
                })
            // Each waiter is queued before the next one arrives.
            if number == 0 { await order.wait(for: 1) } else { await untilTrue { destinations.waitingCount("p") == number } }
        }
        tasks[2].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[2].value }
        #expect(destinations.waitingCount("p") == 2 && order.entries == [0])
        for number in [0, 1, 3] {
            gates[number].open()
            try await tasks[number].value
        }
        #expect(order.entries == [0, 1, 3])
    }

    @Test("a download of another source waits for a dropped one, but not for the download behind it")
    func mixed() async throws {
        let destinations = PartialFileClaims(), begun = Tally(), gate = TestGate(), next = TestGate()
        let ended = Self.callers()
        ended.leave()
        let dropped = Task {
            try await destinations.withExclusiveAccess("p", fetching: Self.identity("s"), for: ended) {
                begun.enter()
                await Task.detached { await gate.wait() }.value
            }
        }
        await begun.wait(for: 1)
        dropped.cancel()
        let others = ["t", "s", "t"].enumerated().map { index, source in
            Task {
                await untilTrue { destinations.waitingCount("p") == index }
                try await destinations.withExclusiveAccess("p", fetching: Self.identity(source), for: Self.callers()) {
                    begun.enter()
                    await next.wait()
                }
            }
        }
        await untilTrue { destinations.waitingCount("p") == 3 }
        gate.open()
        try? await dropped.value
        await #expect(throws: FileError.self) { try await others[1].value }
        #expect(destinations.waitingCount("p") == 1)
        next.open()
        try await others[0].value
        try await others[2].value
        #expect(destinations.waitingCount("p") == 0 && begun.total == 3)
    }

    @Test("a download of another source waits for one whose callers have ended, even before that one notices") func ended() async throws {
        let destinations = PartialFileClaims(), gate = TestGate(), callers = Self.callers()
        let first = await Self.hold(destinations, callers, until: gate)
        // An immediate handler of the end may start the next download.
        callers.leave()
        let next = Task { try await destinations.withExclusiveAccess("p", fetching: Self.identity("t"), for: Self.callers()) { 2 } }
        await untilTrue { destinations.waitingCount("p") == 1 }
        gate.open()
        try await first.value
        #expect(try await next.value == 2)
    }

    @Test("a download waits for an earlier one of its own callers, even for one of another source") func sameCallers() async throws {
        let destinations = PartialFileClaims(), gate = TestGate(), callers = Self.callers()
        let first = await Self.hold(destinations, callers, until: gate)
        let next = Task { try await destinations.withExclusiveAccess("p", fetching: Self.identity("t"), for: callers) { 2 } }
        await untilTrue { destinations.waitingCount("p") == 1 }
        gate.open()
        try await first.value
        #expect(try await next.value == 2)
    }

    /// Starts a download of the source "s" that keeps the file until a gate opens. Returns when it has the file.
    private static func hold(
        _ destinations: PartialFileClaims, _ callers: DownloadCarryOver, until gate: TestGate
    ) async -> Task<Void, any Error> {
        let begun = TestGate()
        let task = Task {
            try await destinations.withExclusiveAccess("p", fetching: identity("s"), for: callers) {
                begun.open()
                await gate.wait()
            }
        }
        await begun.wait()
        return task
    }

    private static func identity(_ source: String) throws -> DownloadIdentity {
        DownloadIdentity(HTTPRequest(url: try url("https://example.com/a")), source: source)
    }

    private static func callers() -> DownloadCarryOver {
        let callers = DownloadCarryOver()
        callers.join()
        return callers
    }
}
