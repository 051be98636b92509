import NessLock

/// The partial files that the downloads of this process use.
///
/// Two downloads never share a file. A download waits for another one of an equal request or of the same callers, or for one that was just
/// dropped. Otherwise it fails. A download that is paused, or that waits for a retry, keeps its file. Downloads that wait for one file get
/// it first in, first out.
final class PartialFileClaims: Sendable {
    /// A download's claim to a file.
    private final class Claim: Sendable {
        let identity: DownloadIdentity
        /// Identifies the callers who share the download.
        let callers: DownloadCarryOver
        private let cancelled = Lock(false)

        init(_ identity: DownloadIdentity, _ callers: DownloadCarryOver) {
            self.identity = identity
            self.callers = callers
        }

        /// A Boolean value that indicates whether the download is about to leave the file.
        var isEnding: Bool { !callers.hasCallers || cancelled.withLock { $0 } }
        func end() { cancelled.withLock { $0 = true } }

        /// True if the claims may wait for each other.
        func isSame(as other: Claim) -> Bool { identity == other.identity || callers === other.callers }
    }

    private struct Waiting: Sendable {
        let claim: Claim
        let waiter: Waiter
    }

    /// A file that a download uses.
    private struct Busy: Sendable {
        /// Distinguishes this use of the file, and its queue, from later ones.
        let number: Int
        var claim: Claim
        var waiting = WaiterQueue<Waiting>()
        /// True if a download of another request may wait, because the present download was dropped.
        var isMixed = false
    }

    /// The last download that used a file. The reference is weak: the last of its callers releases it.
    private struct Owner: Sendable {
        let identity: DownloadIdentity
        weak var callers: DownloadCarryOver?

        /// A Boolean value that indicates whether a download must leave the file to this one, which is paused or waits for an attempt.
        func excludes(_ claim: Claim) -> Bool {
            guard let callers, callers !== claim.callers, callers.hasCallers else { return false }
            return identity != claim.identity
        }
    }

    private struct State: Sendable {
        // Entries are changed in place: a copy of an entry would make the next change copy its whole queue.
        var busy: [String: Busy] = [:]
        var lastNumber = 0
        var kept: [String: Owner] = [:]
        /// The number of owners at which those of ended downloads are removed.
        var keptLimit = 64

        mutating func keep(_ path: String, _ claim: Claim) {
            if kept.count >= keptLimit {
                kept = kept.filter { $0.value.callers?.hasCallers == true }
                keptLimit = max(64, 2 * kept.count)
            }
            kept[path] = Owner(identity: claim.identity, callers: claim.callers)
        }
    }

    /// The files of all managers: a download of one may follow a dropped download of another.
    static let shared = PartialFileClaims()

    private let state = Lock(State())

    /// The number of downloads that wait for a file.
    func waitingCount(_ path: String) -> Int { state.withLock { $0.busy[path]?.waiting.count ?? 0 } }

    /// Runs an operation on a file while no other download uses the file.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - identity: Identifies the request. Equal downloads wait for each other.
    ///   - callers: Identifies the callers who share the download.
    /// - Throws: `FileError` if another download uses the file; `CancellationError`; the operation's error.
    func withExclusiveAccess<Value: Sendable>(
        _ path: String, fetching identity: DownloadIdentity, for callers: DownloadCarryOver,
        _ operation: @Sendable () async throws -> Value
    ) async throws -> Value {
        let claim = Claim(identity, callers)
        // The handler covers everything: a download that starts after a drop must immediately see that this one is ending.
        return try await withTaskCancellationHandler {
            try await take(path, claim)?.wait()
            defer { leave(path) }
            try Task.checkCancellation()
            return try await operation()
        } onCancel: {
            claim.end()
        }
    }

    /// Takes the file, or joins the queue for it.
    /// - Returns: The waiter in the queue. `nil` if the claim has the file.
    private func take(_ path: String, _ claim: Claim) throws -> Waiter? {
        try state.withLock { state in
            guard let (holder, number) = state.busy[path].map({ ($0.claim, $0.number) }) else {
                if state.kept[path]?.excludes(claim) == true { throw Self.keptFailure }
                state.lastNumber += 1
                state.busy[path] = Busy(number: state.lastNumber, claim: claim)
                state.keep(path, claim)
                return nil
            }
            // Equal downloads share a flight. A download that starts while the other one is being canceled starts its own flight.
            let isSame = claim.isSame(as: holder)
            guard isSame || holder.isEnding else { throw Self.busyFailure }
            if !isSame { state.busy[path]?.isMixed = true }
            return state.busy[path]?.waiting.join { id in
                Waiting(claim: claim, waiter: Waiter { [self] in abandon(path, number, id) })
            }.waiter
        }
    }

    /// Removes a waiter whose task was canceled. The queue may be gone: a waiter that was rejected can still be canceled.
    private func abandon(_ path: String, _ number: Int, _ id: WaiterQueue<Waiting>.ID) {
        // The claim is released outside the lock.
        _ = state.withLock { state in
            state.busy[path]?.number == number ? state.busy[path]?.waiting.leave(id) : nil
        }
    }

    /// Hands the file to the download that has waited longest.
    private func leave(_ path: String) {
        while true {
            let (next, refused) = handOver(path)
            for (waiting, failure) in refused { waiting.waiter.resume(.failure(failure)) }
            // A download that was dropped at this moment did not get the file.
            guard let next, !next.waiter.resume() else { return }
        }
    }

    /// Gives the file to the first waiting download that may have it, and rejects those that may not wait for that one.
    private func handOver(_ path: String) -> (next: Waiting?, refused: [(Waiting, FileError)]) {
        state.withLock { state in
            var refused: [(Waiting, FileError)] = []
            while let next = state.busy[path]?.waiting.takeFirst() {
                if state.kept[path]?.excludes(next.claim) == true {
                    refused.append((next, Self.keptFailure))
                    continue
                }
                state.busy[path]?.claim = next.claim
                state.keep(path, next.claim)
                if state.busy[path]?.isMixed == true, !next.claim.isEnding {
                    state.busy[path]?.isMixed = false
                    let others = state.busy[path]?.waiting.takeAll { !$0.claim.isSame(as: next.claim) }
                    refused += (others ?? []).map { ($0, Self.busyFailure) }
                }
                return (next, refused)
            }
            state.busy[path] = nil
            return (nil, refused)
        }
    }

    private static var keptFailure: FileError { FileError("another download, which is paused, is using this destination") }
    private static var busyFailure: FileError { FileError("another download is using this destination") }
}
