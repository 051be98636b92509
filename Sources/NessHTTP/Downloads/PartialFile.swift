import Dispatch
import Foundation
import NessLock

/// A partial file: the received bytes of a download, beside the destination until the download is complete.
///
/// `name.ness-part` holds the bytes and `name.ness-part.json` their record. The record of received bytes is written every second and every
/// 8 MiB, so that a killed process loses no more. The bytes are synced in the background, at a pace that the disk can keep; after a crash
/// of the system only synced bytes count. A lock on the first file excludes all other downloads, in this process and in others.
///
/// The file is open only while at least one request of the download does not wait in a queue: many downloads may wait, and the system
/// limits the number of open files. Meanwhile another process may take the file, so it is checked when it is opened again.
///
/// Two queues access the disk: `writes` writes bytes, while `maintenance` syncs earlier ones. Byte writes and file syncs run outside the
/// lock. Notes and record changes run under it, so a reader of the state may wait for them.
final class PartialFile: Sendable {
    /// Counts what happened since the last note and the last sync, which determines when the next ones start.
    struct Pacing: Sendable {
        /// The number of bytes since the last note.
        var unnotedBytes: Int64 = 0
        /// The time of the last note. `nil` before the first note.
        var lastNote: Duration?
        /// The number of bytes since the last sync started.
        var unsyncedBytes: Int64 = 0
        var isSyncing = false
        /// The time when the last sync started, or when the file was opened.
        var lastSync: Duration
        /// The earliest time of the next sync. Syncs take at most half of the time. On the system's clock, because it measures the disk.
        var nextSync = ContinuousClock.now

        /// Starts a sync if it is time.
        /// - Returns: True if the sync has to run now.
        mutating func startSync(at now: Duration) -> Bool {
            guard unsyncedBytes >= PartialFile.syncInterval || now - lastSync >= PartialFile.slowestSync, !isSyncing,
                ContinuousClock.now >= nextSync
            else { return false }
            (unsyncedBytes, isSyncing, lastSync) = (0, true, now)
            return true
        }
    }

    struct State: Sendable {
        var record: PartialRecord
        /// The record at the last sync of this file. `nil` before the first sync.
        var synced: PartialRecord?
        var records: RecordFile
        var pacing: Pacing
        /// The number of restarts. An exchange that started before a restart must not write to the file.
        var generation = 0
        /// The error of a failed sync. A later sync may report success although bytes are lost.
        var syncFailure: (any Error)?
        var isClosed = false
        var isCancelled = false
        /// The open file; `nil` while all requests wait in queues, and after the end.
        var file: OpenFile?
        /// The length and the identity of the file when it was closed for a wait; `nil` for an empty file, which was removed.
        var closed: (length: Int64, key: FileLocks.Key)?
        /// The requests of the download, by their sinks. True for a request that waits in a queue.
        var requests: [ObjectIdentifier: Bool] = [:]

        var isActive: Bool { requests.values.contains(false) }
        var isUnused: Bool { !requests.isEmpty && !isActive && !isClosed }
    }

    /// The number of bytes after which a sync starts, unless one is running.
    private static let syncInterval: Int64 = 8 << 20
    /// The time after which a sync starts, even if fewer bytes were received.
    private static let slowestSync = Duration.seconds(10)
    /// The most that a killed process loses.
    private static let noteInterval = (bytes: Int64(8 << 20), time: Duration.seconds(1))

    let path: String
    let recordPath: String
    private let elapsed: @Sendable () -> Duration
    /// The length that the caller expects, until the server announces one.
    private let expectedSize: Int64?
    let state: Lock<State>
    /// Changes the bytes of the file, in order. Work that has to follow all writes passes through it first. Tests suspend it.
    let writes = DispatchQueue(label: "ness.partial-file.writes")
    /// Runs the other slow operations: syncs the file, opens and closes it, and gives it its final name.
    private let maintenance = DispatchQueue(label: "ness.partial-file")
    private let reports = SerialRunner()

    /// Opens the partial file of an earlier run for the same source, or starts over.
    /// - Parameters:
    ///   - path: The path of the partial file.
    ///   - source: Identifies the requested resource, as `PartialRecord.source`. `nil` if the download cannot be resumed.
    ///   - expectedSize: The length that the caller expects; `nil` for any.
    ///   - elapsed: The time since a fixed moment. It paces the notes.
    /// - Throws: `FileError`, for example if another download has the file open.
    static func open(path: String, source: String?, expecting expectedSize: Int64? = nil, elapsed: @escaping @Sendable () -> Duration)
        async throws -> PartialFile
    {
        try await DispatchQueue(label: "ness.partial-file.open").run {
            let file = try PartialFile(path: path, source: source, expecting: expectedSize, elapsed: elapsed)
            // Closed in the same step, so that a thousand downloads that start together do not have a thousand open files.
            file.closeNow()
            return file
        }
    }

    /// Opens the partial file like `open(path:source:expecting:elapsed:)`, on the calling thread.
    /// - Parameters:
    ///   - path: The path of the partial file.
    ///   - source: Identifies the requested resource, as `PartialRecord.source`. `nil` if the download cannot be resumed.
    ///   - expectedSize: The length that the caller expects; `nil` for any.
    ///   - boot: Identifies the period since the system's last start.
    ///   - elapsed: The time since a fixed moment. It paces the notes.
    /// - Throws: `FileError`, for example if another download has the file open.
    init(
        path: String, source: String?, expecting expectedSize: Int64? = nil, boot: String? = BootSession.current,
        elapsed: @escaping @Sendable () -> Duration
    ) throws {
        self.expectedSize = expectedSize
        self.elapsed = elapsed
        self.path = path
        recordPath = path + ".json"
        let file = try Self.openLocked(path)
        let length = try file.length()
        var records = RecordFile(path: recordPath, boot: boot)
        if let source, let (found, synced) = records.read(for: source, fileOf: length) {
            // Bytes beyond the record's count may be damaged.
            try file.truncate(to: found.spans.count == 1 ? found.count : min(length, found.total ?? length))
            state = Lock(State(record: found, synced: synced, records: records, pacing: Pacing(lastSync: elapsed()), file: file))
        } else {
            try Self.discard(file, &records, recordPath)
            let empty = PartialRecord(source: source ?? "")
            state = Lock(State(record: empty, records: records, pacing: Pacing(lastSync: elapsed()), file: file))
        }
    }

    static func openLocked(_ path: String) throws -> OpenFile {
        while true {
            // Open no symbolic link, which may lead to another file. Do not block on a named pipe.
            let file = try OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
            guard try file.lock() else { throw FileError("another download is using this destination") }
            // Another process that had the file open until now may have renamed it to its final name.
            guard try file.isAtItsPath() else { continue }
            // The path is a hard link: planted by an attacker, or left by a run that was killed while it gave the file its final name. The
            // other name stays.
            if try file.hasOtherNames() {
                unlink(path)
                continue
            }
            if try file.length() == 0 { PartialFileAttributes.set(at: path) }
            return file
        }
    }

    // MARK: state

    var record: PartialRecord { state.withLock { $0.record } }

    /// The record, and the number of the generation that it belongs to.
    var recordAndGeneration: (record: PartialRecord, generation: Int) { state.withLock { ($0.record, $0.generation) } }

    /// The number of bytes in the file, and the final number if it is known.
    var progress: (completed: Int64, total: Int64?) { state.withLock { ($0.record.count, $0.record.total ?? expectedSize) } }

    /// Reports the progress, one value at a time. Otherwise one of several parallel requests could report the progress that it read before
    /// another one reported more. A request that finds another one reporting leaves its report to it.
    func reportProgress(to report: @escaping @Sendable (Int64, Int64?) -> Void) {
        reports.run { [self] in
            let (completed, total) = progress
            report(completed, total)
        }
    }

    // MARK: receiving

    /// Deletes the received bytes and their record.
    /// - Parameter generation: The generation that the caller knows. `nil` for any.
    /// - Returns: The number of the new generation.
    /// - Throws: `FileError`; `CancellationError` if the file is closed, or if another exchange restarted it.
    @discardableResult
    func restart(after generation: Int? = nil) async throws -> Int {
        // On both queues, so that no write of deleted bytes follows, and no running sync writes a record of them.
        try await writes.run { [self] in
            try maintenance.sync {
                let file = try openNow()
                return try state.withLock { state in
                    guard !state.isClosed, generation.map({ $0 == state.generation }) ?? true else { throw CancellationError() }
                    state.generation += 1
                    state.record = PartialRecord(source: state.record.source)
                    state.synced = nil
                    (state.pacing.lastNote, state.pacing.unnotedBytes) = (nil, 0)
                    try Self.discard(file, &state.records, recordPath)
                    return state.generation
                }
            }
        }
    }

    /// Removes the record first, and syncs the folder. A record that outlived its bytes would count other bytes.
    private static func discard(_ file: OpenFile, _ records: inout RecordFile, _ recordPath: String) throws {
        if records.remove() { OpenFile.syncFolder(URL(fileURLWithPath: recordPath).deletingLastPathComponent().path) }
        try file.truncate(to: 0)
    }

    /// Uncounts the last byte of a complete file, so that the next request asks the server whether it still has that version.
    func forgetLastByte() {
        state.withLock { state in
            let last = state.record.spans.count - 1
            if state.record.isComplete, state.record.spans[last].count > 0 { state.record.spans[last].count -= 1 }
        }
    }

    /// Changes the record after a response's head.
    /// - Parameter generation: The generation that the caller knows.
    /// - Throws: `CancellationError` if the file is closed or was restarted.
    func updateRecord(of generation: Int, _ change: @Sendable (inout PartialRecord) -> Void) throws {
        try state.withLock { state in
            guard !state.isClosed, state.generation == generation else { throw CancellationError() }
            change(&state.record)
        }
    }

    /// Writes bytes to a span. Returns when the system has taken them.
    /// - Throws: `FileError`; `CancellationError` if the file is closed or was restarted; `RangeMismatch` if the bytes exceed the span.
    func write(_ data: Data, toSpan index: Int, in generation: Int) async throws {
        try await writes.run { [self] in try writeNow(data, toSpan: index, in: generation) }
    }

    private func writeNow(_ data: Data, toSpan index: Int, in generation: Int) throws {
        let (offset, file): (Int64, OpenFile?) = try state.withLock { state in
            guard !state.isClosed, state.generation == generation, state.record.spans.indices.contains(index) else {
                throw CancellationError()
            }
            if let failure = state.syncFailure { throw failure }
            let span = state.record.spans[index]
            if let end = span.end, Int64(data.count) > end - span.next { throw RangeMismatch() }
            return (span.next, state.file)
        }
        // Outside the lock, so that a reader of the progress does not wait for the bytes. A restart and the end pass through this queue
        // first, so the span and the open file stay as they are.
        guard let file else { throw CancellationError() }
        try file.write(data, at: offset)
        let now = elapsed()
        let syncs: Bool = state.withLock { state in
            state.record.spans[index].count += Int64(data.count)
            state.pacing.unnotedBytes += Int64(data.count)
            state.pacing.unsyncedBytes += Int64(data.count)
            Self.note(&state, now)
            return state.pacing.startSync(at: now)
        }
        if syncs { maintenance.async { [self] in sync() } }
    }

    /// Writes a note of the received bytes, if it is time.
    private static func note(_ state: inout State, _ now: Duration) {
        let isDue = state.pacing.lastNote.map { now - $0 >= noteInterval.time } ?? true
        guard isDue || state.pacing.unnotedBytes >= noteInterval.bytes else { return }
        // The running sync is about to replace the record's file.
        if state.pacing.isSyncing, !state.records.canNote(state.record) { return }
        (state.pacing.lastNote, state.pacing.unnotedBytes) = (now, 0)
        // A disk that is too full for a record may still have room for the file.
        try? state.records.note(state.record, synced: state.synced)
    }

    /// Syncs the file, then writes the record. Runs on `maintenance`.
    func sync() {
        // Take the record before the sync: bytes that arrive during the sync do not count as synced.
        let known = record
        let start = ContinuousClock.now
        do {
            try openNow().sync(.inOrder)
            try? keepRecord(of: known)
        } catch {
            state.withLock { state in
                state.syncFailure = error
                state.records.removeNote()
            }
        }
        let end = ContinuousClock.now
        state.withLock { state in
            state.pacing.isSyncing = false
            state.pacing.nextSync = end.advanced(by: start.duration(to: end))
        }
    }

    /// Replaces the record on the disk in one step. `synced` counts the synced bytes.
    private func keepRecord(of synced: PartialRecord) throws {
        guard synced.isOfUse else { return }
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

    /// Runs a closure on `maintenance`, after all writes.
    func afterWrites<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            writes.async { [maintenance] in maintenance.async { continuation.resume(returning: body()) } }
        }
    }
}

/// The server's response does not continue the partial file. The download starts over.
struct RangeMismatch: ExchangeInterruption {}
