import NessHTTP
import NessLock
import Testing

/// A handler that forwards to another one, and counts its calls.
package struct CountingHandler: DuplicatedHandler {
    package let tally = Tally()
    package let asked = Log<DuplicatedRequest>()
    package let decision: RequestDuplicatedDecision

    package init(_ decision: RequestDuplicatedDecision = .useBothCompletion) { self.decision = decision }

    package func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        tally.enter()
        asked.add(duplicate)
        return decision
    }
}

/// Lets a number of duplicates join, and rejects the others.
package final class LimitedJoining: DuplicatedHandler {
    private let limit: Int
    private let tally = Tally()
    private let callerCounts = Log<Int>()

    package init(_ limit: Int) { self.limit = limit }

    package func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
        let isTaken = tally.enter() < limit
        callerCounts.add(duplicate.callerCount)
        return isTaken ? .useBothCompletion : .ignoreCurrentCompletion
    }

    /// Waits until all of them have joined: a handler decides before the caller joins, and the next one is told how many have.
    package func waitUntilJoined(by request: RequestBuilder) async {
        await callerCounts.wait(for: limit)
        while callerCounts.entries.last != limit + 1 { #expect(await request.dataRequest().nessError()?.kind == .duplicate) }
    }
}
