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
    /// Determines when the next note and the next sync start.
    struct Pacing: Sendable {
        /// A time, and the number of received bytes at that time.
        typealias Moment = (time: Duration, count: Int64)

        /// The last note. `nil` before the first note.
        var lastNote: Moment?
        /// The start of the last sync. Before the first sync: when the file was opened, or was started over.
        var lastSync: Moment
        /// The earliest time of the next sync; `nil` while a sync runs. Syncs take at most half of the time. On the system's clock, because it
        /// measures the disk.
        var nextSync: ContinuousClock.Instant? = ContinuousClock.now

        /// Starts a sync if it is time.
        /// - Returns: True if the sync has to run now.
        mutating func startSync(at now: Moment) -> Bool {
            guard now.count - lastSync.count >= PartialFile.syncInterval || now.time - lastSync.time >= PartialFile.slowestSync,
                let nextSync, ContinuousClock.now >= nextSync
            else { return false }
            lastSync = now
            self.nextSync = nil
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
        /// True while requests wait in queues, and no other request runs.
        var isUnused: Bool { !requests.isEmpty && !isActive }
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
    private let syncFile: @Sendable (OpenFile, OpenFile.Sync) throws -> Void
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
    ///   - syncFile: Syncs the open file. Tests make it fail.
    ///   - elapsed: The time since a fixed moment. It paces the notes.
    /// - Throws: `FileError`, for example if another download has the file open.
    init(
        path: String, source: String?, expecting expectedSize: Int64? = nil, boot: String? = BootSession.current,
        syncFile: @escaping @Sendable (OpenFile, OpenFile.Sync) throws -> Void = { try $0.sync($1) },
        elapsed: @escaping @Sendable () -> Duration
    ) throws {
        self.expectedSize = expectedSize
        self.syncFile = syncFile
        self.elapsed = elapsed
        self.path = path
        recordPath = path + ".json"
        let file = try Self.openLocked(path)
        let length = try file.length()
        var records = RecordFile(path: recordPath, boot: boot)
        let found = source.flatMap { records.read(for: $0, fileOf: length) }
        if let found {
            // Bytes beyond the last one that the record counts may be damaged.
            try file.truncate(to: min(length, found.record.next))
        } else {
            try Self.discard(file, &records)
        }
        let record = found?.record ?? PartialRecord(source: source ?? "")
        let pacing = Pacing(lastSync: (elapsed(), record.count))
        state = Lock(State(record: record, synced: found?.synced, records: records, pacing: pacing, file: file))
    }

    /// Opens a partial file, or creates it, and locks it.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - lock: Locks the file. Tests rename it at that moment.
    /// - Throws: `FileError`.
    static func openLocked(_ path: String, lock: (OpenFile) throws -> Bool = { try $0.lock() }) throws -> OpenFile {
        while true {
            // Open no symbolic link, which may lead to another file. Do not block on a named pipe.
            let file = try OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
            guard try lock(file) else { throw FileError("another download is using this destination") }
            // Another process that had the file open until now may have renamed it to its final name.
            guard try file.isAtItsPath() else { continue }
            // The path is a hard link: planted by an attacker, or left by a run that was killed while it gave the file its final name. The
            // other name stays.
            if try file.hasOtherNames() {
                unlink(path)
                continue
            }
            PartialFileAttributes.set(at: path)
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
                let file = try openNow(), now = elapsed()
                return try state.withLock { state in
                    guard !state.isClosed, generation.map({ $0 == state.generation }) ?? true else { throw CancellationError() }
                    state.generation += 1
                    state.record = PartialRecord(source: state.record.source)
                    state.synced = nil
                    state.pacing = Pacing(lastSync: (now, state.record.count))
                    try Self.discard(file, &state.records)
                    return state.generation
                }
            }
        }
    }

    /// Removes the record first. A record that outlived its bytes would count other bytes.
    private static func discard(_ file: OpenFile, _ records: inout RecordFile) throws {
        records.removeForGood()
        try file.truncate(to: 0)
    }

    /// Uncounts the last byte of a complete file, so that the next request asks the server whether it still has that version.
    func forgetLastByte() {
        state.withLock { state in
            // A complete record was read from the disk, where no complete span is empty.
            let last = state.record.spans.count - 1
            if state.record.isComplete { state.record.spans[last].count -= 1 }
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
            let span = state.record.spans[index]
            if let end = span.end, Int64(data.count) > end - span.next { throw RangeMismatch() }
            return (span.next, state.file)
        }
        // Outside the lock, so that a reader of the progress does not wait for the bytes. A restart and the end pass through this queue
        // first, so the span and the open file stay as they are.
        guard let file else { throw CancellationError() }
        try file.write(data, at: offset)
        let now = elapsed()
        let syncs: Bool = try state.withLock { state in
            // Checked here, because a note of these bytes must not follow the failure.
            if let failure = state.syncFailure { throw failure }
            state.record.spans[index].count += Int64(data.count)
            let moment: Pacing.Moment = (now, state.record.count)
            Self.note(&state, moment)
            return state.pacing.startSync(at: moment)
        }
        if syncs { maintenance.async { [self] in sync() } }
    }

    /// Writes a note of the received bytes, if it is time.
    private static func note(_ state: inout State, _ now: Pacing.Moment) {
        if let last = state.pacing.lastNote {
            guard now.time - last.time >= noteInterval.time || now.count - last.count >= noteInterval.bytes else { return }
        }
        // The running sync is about to replace the record's file.
        if state.pacing.nextSync == nil, !state.records.canNote(state.record) { return }
        state.pacing.lastNote = now
        // A disk that is too full for a record may still have room for the file.
        try? state.records.note(state.record, synced: state.synced)
    }

    /// Syncs the file, then writes the record. Runs on `maintenance`.
    func sync() {
        let start = ContinuousClock.now
        // A disk that is too full for a record may still have room for the file. The state keeps the error of a failed sync.
        try? syncWithRecord()
        let end = ContinuousClock.now
        state.withLock { $0.pacing.nextSync = end.advanced(by: start.duration(to: end)) }
    }

    private func syncWithRecord() throws {
        // Take the record before the sync: bytes that arrive during the sync do not count as synced.
        let synced = record
        try syncBytes(of: openNow(), .inOrder)
        guard synced.isOfUse else { return }
        let prepared = try RecordFile.prepare(synced, path: recordPath)
        try state.withLock { state in
            state.synced = synced
            try state.records.install(prepared, noting: state.record)
        }
    }

    /// Syncs the bytes of the open file. After a failure, every later sync fails.
    /// - Throws: `FileError`.
    func syncBytes(of file: OpenFile, _ strength: OpenFile.Sync) throws {
        if let failure = state.withLock({ $0.syncFailure }) { throw failure }
        do {
            try syncFile(file, strength)
        } catch {
            state.withLock { state in
                state.syncFailure = error
                state.records.removeNote()
            }
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
