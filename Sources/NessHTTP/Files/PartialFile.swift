import Dispatch
import Foundation

/// A file on its way: what has come lies beside its destination until it is whole.
///
/// `name.ness-part` holds the bytes and `name.ness-part.json` what is known of them. What has come is noted there every second and every
/// 8 MiB, so that a process that is killed loses no more. The bytes are synced in the background, at a pace that the disk can keep: after a
/// crash of the system only those count. The lock on the first file keeps everyone else away, in this process and in others.
final class PartialFile: Sendable {
    private struct State: Sendable {
        var record: PartialRecord
        /// The record at the last sync of this file; nil before.
        var synced: PartialRecord?
        var records: RecordFile
        /// The number of bytes since the last note, and the time of that; nil before the first.
        var unnoted: Int64 = 0
        var noted: Duration?
        /// How often the file was begun anew: an exchange that began before must not add to it.
        var beginning = 0
        /// How many bytes have come since the last sync began.
        var unsynced: Int64 = 0
        var isSyncing = false
        /// When the last sync began; before the first, when the file was opened.
        var lastSync: Duration
        /// When the next sync may begin: they take no more than half of the time.
        var nextSync = ContinuousClock.now
        /// A sync that failed: a later one may claim success for bytes that are lost.
        var syncFailure: (any Error)?
        var isClosed = false
        var isCancelled = false
    }

    /// After how many bytes a sync begins, unless one still runs.
    private static let syncInterval: Int64 = 8 << 20
    /// The time after which one begins, if fewer bytes have come.
    private static let slowestSync = Duration.seconds(10)
    /// The most that a killed process loses.
    private static let noteInterval = (bytes: Int64(8 << 20), time: Duration.seconds(1))

    private let file: OpenFile
    private let recordPath: String
    private let elapsed: @Sendable () -> Duration
    private let state: Lock<State>
    /// Where syncing and what else takes its time is done; whatever changes the record on the disk.
    private let queue = DispatchQueue(label: "ness.partial-file")

    /// Opens what is there for a source, or begins anew.
    /// - Parameters:
    ///   - path: Where the bytes lie until they are whole.
    ///   - source: What was asked for, as of `PartialRecord.source`; nil for what can't be continued.
    ///   - boot: Identifies the time since the system began.
    ///   - elapsed: The time since any moment: paces the notes.
    /// - Throws: `FileFailure`, also when someone else is at it.
    init(path: String, source: String?, boot: String? = BootSession.current, elapsed: @escaping @Sendable () -> Duration) throws {
        self.elapsed = elapsed
        recordPath = path + ".json"
        file = try Self.openLocked(path)
        let length = try file.length()
        var records = RecordFile(path: recordPath, boot: boot)
        if let source, let (found, synced) = records.read(for: source, fileOf: length) {
            // The tail that the record does not know may be torn.
            try file.truncate(to: found.spans.count == 1 ? found.count : min(length, found.total ?? length))
            state = Lock(State(record: found, synced: synced, records: records, lastSync: elapsed()))
        } else {
            try Self.discard(file, &records, recordPath)
            state = Lock(State(record: PartialRecord(source: source ?? ""), records: records, lastSync: elapsed()))
        }
    }

    private static func openLocked(_ path: String) throws -> OpenFile {
        while true {
            // Not through a link, which may lead to another's file; nor does a pipe keep us waiting.
            let file = try OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
            guard file.lock() else { throw FileFailure("another download is at work on this destination") }
            // Another process that had the file until now may have given it its final name.
            guard try file.isAtItsPath() else { continue }
            // A hard link: one that somebody planted, or the finished file of a run that was killed just then. Its other name keeps it.
            if try file.hasOtherNames() {
                unlink(path)
                continue
            }
            return file
        }
    }

    // MARK: what there is

    var record: PartialRecord { state.withLock { $0.record } }

    /// What there is, and the number of the beginning that it belongs to.
    var present: (record: PartialRecord, beginning: Int) { state.withLock { ($0.record, $0.beginning) } }

    /// How many bytes there are, and how many there will be.
    var progress: (completed: Int64, total: Int64?) { state.withLock { ($0.record.count, $0.record.total) } }

    // MARK: what comes

    /// Forgets what is there.
    /// - Parameter beginning: The beginning that the caller knows; nil for whichever it is.
    /// - Returns: The number of the new beginning.
    /// - Throws: `FileFailure`; `CancellationError` once the file is closed, or was begun anew by someone else.
    @discardableResult
    func restart(after beginning: Int? = nil) throws -> Int {
        // On the queue, so that no sync writes a record of what was there before.
        try queue.sync {
            try state.withLock { state in
                guard !state.isClosed, beginning.map({ $0 == state.beginning }) ?? true else { throw CancellationError() }
                state.beginning += 1
                state.record = PartialRecord(source: state.record.source)
                (state.synced, state.noted, state.unnoted) = (nil, nil, 0)
                try Self.discard(file, &state.records, recordPath)
                return state.beginning
            }
        }
    }

    /// The record goes first, and for good: one that outlived the bytes it counts would count others.
    private static func discard(_ file: OpenFile, _ records: inout RecordFile, _ path: String) throws {
        if records.remove() { OpenFile.syncFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path) }
        try file.truncate(to: 0)
    }

    /// Forgets the last byte of a file that is whole, so that the server is asked whether it still has that version.
    func forgetLastByte() {
        state.withLock { state in
            let last = state.record.spans.count - 1
            if state.record.isWhole, state.record.spans[last].count > 0 { state.record.spans[last].count -= 1 }
        }
    }

    /// Changes what is known, once a response's head has told more.
    /// - Parameter beginning: The beginning that the caller knows.
    /// - Throws: `CancellationError` once the file is closed, or was begun anew.
    func learn(in beginning: Int, _ change: @Sendable (inout PartialRecord) -> Void) throws {
        try state.withLock { state in
            guard !state.isClosed, state.beginning == beginning else { throw CancellationError() }
            change(&state.record)
        }
    }

    /// Adds bytes to a span.
    /// - Throws: `FileFailure`; `CancellationError` once the file is closed, or was begun anew; `RangeMismatch` when there are more
    ///   bytes than there may be.
    func write(_ data: Data, toSpan index: Int, in beginning: Int) throws {
        let syncs: Bool = try state.withLock { state in
            guard !state.isClosed, state.beginning == beginning, state.record.spans.indices.contains(index) else {
                throw CancellationError()
            }
            if let failure = state.syncFailure { throw failure }
            let span = state.record.spans[index]
            if let end = span.end, Int64(data.count) > end - span.next { throw RangeMismatch() }
            // Within the lock, so that nothing is written once `close` has returned.
            try file.write(data, at: span.next)
            state.record.spans[index].count += Int64(data.count)
            state.unsynced += Int64(data.count)
            state.unnoted += Int64(data.count)
            let now = elapsed()
            Self.note(&state, now)
            guard state.unsynced >= Self.syncInterval || now - state.lastSync >= Self.slowestSync, !state.isSyncing,
                ContinuousClock.now >= state.nextSync
            else { return false }
            state.isSyncing = true
            state.unsynced = 0
            state.lastSync = now
            return true
        }
        if syncs { queue.async { [self] in sync() } }
    }

    /// Notes what has come, if it is time.
    private static func note(_ state: inout State, _ now: Duration) {
        let isDue = state.noted.map { now - $0 >= noteInterval.time } ?? true
        guard isDue || state.unnoted >= noteInterval.bytes else { return }
        // A sync is about to replace the file.
        if state.isSyncing, !state.records.canNote(state.record) { return }
        (state.noted, state.unnoted) = (now, 0)
        // A disk too full for a record may still hold the file.
        try? state.records.note(state.record, synced: state.synced)
    }

    /// Runs on the queue.
    private func sync() {
        // Taken before: what comes while the disk works is not counted.
        let known = record
        let start = ContinuousClock.now
        do {
            try file.sync()
            try? keepRecord(of: known)
        } catch {
            state.withLock { state in
                state.syncFailure = error
                state.records.removeNote()
            }
        }
        let end = ContinuousClock.now
        state.withLock { state in
            state.isSyncing = false
            state.nextSync = end.advanced(by: start.duration(to: end))
        }
    }

    /// Records what is synced, in one step.
    private func keepRecord(of synced: PartialRecord) throws {
        guard synced.validator != nil, synced.count > 0 else { return }
        do {
            let prepared = try RecordFile.prepare(synced, path: recordPath)
            try state.withLock { state in
                state.synced = synced
                try state.records.install(prepared, noting: state.record)
            }
        } catch {
            unlink(recordPath + ".new")
            throw error
        }
    }

    // MARK: the end

    /// Takes nothing more, and has what came ready for another run; without a validator nobody could go on, so it is removed.
    func close() async {
        state.withLock { $0.isClosed = true }
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let (record, failure) = state.withLock { ($0.record, $0.syncFailure) }
                let isOfUse = record.validator != nil && record.count > 0
                if isOfUse, failure == nil { sync() }
                if !isOfUse || access(recordPath, F_OK) != 0 { remove() }
                file.closeNow()
                continuation.resume()
            }
        }
    }

    /// Takes nothing more, and removes what came.
    func abandon() async {
        state.withLock { $0.isClosed = true }
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                remove()
                file.closeNow()
                continuation.resume()
            }
        }
    }

    /// Gives the whole file its final name, synced.
    /// - Parameters:
    ///   - destination: Where to.
    ///   - replaces: Whether a file that is there is replaced; if not, a free name like it is found.
    /// - Returns: Where the file is.
    /// - Throws: `FileFailure`; `IncompleteFile`; `CancellationError`.
    func finish(as destination: URL, replaces: Bool) async throws -> URL {
        state.withLock { $0.isClosed = true }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in
                    let result = Result { try finishNow(destination, replaces) }
                    if case .success = result { file.closeNow() }
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            state.withLock { $0.isCancelled = true }
        }
    }

    private func finishNow(_ destination: URL, _ replaces: Bool) throws -> URL {
        let record = record
        let length = try file.length()
        guard record.count == length, record.total ?? length == length else {
            throw IncompleteFile(description: "\(record.count) of \(record.total ?? length) bytes of the file came")
        }
        if let failure = state.withLock({ $0.syncFailure }) { throw failure }
        try file.sync()
        // Syncing may take seconds, and who paused or dropped meanwhile gets no file.
        if state.withLock({ $0.isCancelled }) { throw CancellationError() }
        guard try file.isAtItsPath(), try !file.hasOtherNames() else {
            throw FileFailure("the partial file was replaced while the download ran")
        }
        var place = destination
        if replaces {
            try OpenFile.rename(file.path, to: place.path)
        } else {
            var number = 1
            while try !OpenFile.renameIfFree(file.path, to: place.path) {
                number += 1
                place = destination.numbered(number)
            }
        }
        OpenFile.syncFolder(place.deletingLastPathComponent().path)
        removeRecord()
        return place
    }

    private func remove() {
        unlink(file.path)
        removeRecord()
    }

    private func removeRecord() { _ = state.withLock { $0.records.remove() } }
}
