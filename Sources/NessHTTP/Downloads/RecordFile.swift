import Foundation

/// The file beside a partial file that holds its record.
///
/// The first line counts bytes that are certainly on the disk, and is itself synced. The second line is a note of the number of bytes
/// received so far. The note is overwritten in place at least once a second, and not synced.
///
/// When a process is killed, the system's page cache keeps the note and the bytes that it counts. A crash of the whole system may lose
/// either. Therefore the note holds the identifier of the boot, and is ignored after another boot.
///
/// Every method runs under the lock of the partial file, except `prepare`.
struct RecordFile: Sendable {
    /// The number of received bytes of each span, synced or not.
    private struct Note: Codable {
        let boot: String
        let counts: [Int64]
    }

    /// A first line that is on the disk under a temporary name.
    struct Prepared: Sendable {
        fileprivate let file: OpenFile
        fileprivate let record: PartialRecord
        fileprivate let length: Int64
    }

    /// The most bytes of a record.
    private static let maximumLength: Int64 = 1 << 20

    private let path: String
    /// Identifies the period since the system's last start. `nil` if it is unknown; then no note is written.
    private let boot: String?
    /// The file that notes are written to. `nil` before the first note, and after a wait.
    private var current: Prepared?
    private var noteLength = 0

    init(path: String, boot: String?) {
        self.path = path
        self.boot = boot
    }

    // MARK: reading

    /// Reads the record that an earlier run left.
    /// - Parameters:
    ///   - source: Identifies the requested resource, as `PartialRecord.source`.
    ///   - length: The length of the partial file.
    /// - Returns: The record, and its synced part. `nil` if there is nothing to resume.
    func read(for source: String, fileOf length: Int64) -> (record: PartialRecord, synced: PartialRecord)? {
        guard let data = OpenFile.contents(of: path, limit: Self.maximumLength) else { return nil }
        let lines = data.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
        guard let first = lines.first, let synced = try? JSONDecoder().decode(PartialRecord.self, from: first), synced.source == source
        else { return nil }
        var record = synced
        if lines.count > 1, let note = try? JSONDecoder().decode(Note.self, from: lines[1]), note.boot == boot,
            note.counts.count == synced.spans.count
        {
            for (index, count) in note.counts.enumerated() { record.spans[index].count = count }
        }
        if !record.isValid(forFileOf: length) { record = synced }
        return record.isValid(forFileOf: length) ? (record, synced) : nil
    }

    // MARK: writing

    /// Returns true if a note on a record needs no new first line.
    func canNote(_ record: PartialRecord) -> Bool { current?.record.hasSameShape(as: record) == true }

    /// Writes a note of the number of received bytes.
    /// - Parameters:
    ///   - record: The record of the received bytes.
    ///   - synced: The record of the synced bytes. `nil` if no byte was synced.
    mutating func note(_ record: PartialRecord, synced: PartialRecord?) throws {
        guard let boot, record.isOfUse else { return }
        if let current, canNote(record) {
            noteLength = try write(record, boot, to: current, over: noteLength)
            return
        }
        let base = record.counting(as: synced)
        let prepared = try Self.write(base, path: path)
        // A record without synced bytes need not be on the disk.
        if base.count > 0 { try prepared.file.sync(.inOrder) }
        try install(prepared, noting: record)
    }

    /// Writes a note.
    /// - Returns: Its length.
    private func write(_ record: PartialRecord, _ boot: String, to prepared: Prepared, over old: Int) throws -> Int {
        let line = try Data("\n".utf8) + JSONEncoder().encode(Note(boot: boot, counts: record.spans.map(\.count)))
        try prepared.file.write(line, at: prepared.length)
        if line.count < old { try prepared.file.truncate(to: prepared.length + Int64(line.count)) }
        return line.count
    }

    /// Writes and syncs a record under its temporary name. This may take long.
    static func prepare(_ record: PartialRecord, path: String) throws -> Prepared {
        let prepared = try write(record, path: path)
        try prepared.file.sync(.inOrder)
        return prepared
    }

    private static func write(_ record: PartialRecord, path: String) throws -> Prepared {
        let data = try JSONEncoder().encode(record)
        return Prepared(file: try OpenFile(writing: data, to: path + ".new"), record: record, length: Int64(data.count))
    }

    /// Replaces the file in one step.
    /// - Parameters:
    ///   - prepared: The record of the synced bytes.
    ///   - record: The record of the received bytes, for a note.
    mutating func install(_ prepared: Prepared, noting record: PartialRecord) throws {
        var length = 0
        if let boot, record.count > prepared.record.count, record.hasSameShape(as: prepared.record) {
            length = try write(record, boot, to: prepared, over: 0)
        }
        try OpenFile.rename(path + ".new", to: path)
        (current, noteLength) = (prepared, length)
    }

    /// Removes the note, because bytes that it counts may be lost. The record is removed as well if it counts no synced bytes, or if it is
    /// of an earlier run.
    mutating func removeNote() {
        guard let current, current.record.count > 0 else {
            remove()
            return
        }
        try? current.file.truncate(to: current.length)
        noteLength = 0
    }

    /// Closes the file that notes are written to. The next note makes another one.
    mutating func closeFile() {
        current?.file.closeNow()
        (current, noteLength) = (nil, 0)
    }

    /// Removes the file. Not even a crash of the system restores it.
    /// - Parameter syncFolder: Syncs the entries of a folder. Tests record it.
    mutating func removeForGood(syncFolder: (String) -> Void = { OpenFile.syncFolder($0) }) {
        // A sync of the folder costs milliseconds, and most downloads start without a record.
        if remove() { syncFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path) }
    }

    /// Removes the file.
    /// - Returns: True if the file existed.
    @discardableResult
    mutating func remove() -> Bool {
        closeFile()
        unlink(path + ".new")
        return unlink(path) == 0
    }
}

extension PartialRecord {
    /// Returns true if two records differ in their counts at most.
    fileprivate func hasSameShape(as other: PartialRecord) -> Bool {
        version == other.version && source == other.source && validator == other.validator && total == other.total
            && fields == other.fields && spans.elementsEqual(other.spans) { $0.start == $1.start && $0.end == $1.end }
    }

    /// This record with the counts of another record of the same file. The counts are 0 if the two have different spans or validators.
    fileprivate func counting(as other: PartialRecord?) -> PartialRecord {
        var copy = self
        let isSame = other?.validator == validator && other?.spans.map(\.start) == spans.map(\.start)
        for index in spans.indices { copy.spans[index].count = isSame ? other?.spans[index].count ?? 0 : 0 }
        return copy
    }
}
