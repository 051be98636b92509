import Foundation

/// The file beside a partial file that holds its record.
///
/// Its first line counts bytes that are on the disk for certain, and is synced itself. The second line is a note: how many bytes have come
/// by now. It is written over in place, at least once a second, and not synced. The system's page cache keeps it, and the bytes that it
/// counts, when a process is killed. A crash of the whole system may lose either, so the note holds the identifier of the boot, and counts
/// in no other.
///
/// Every method runs under the lock of the partial file, except `prepare`.
struct RecordFile: Sendable {
    /// The number of bytes of each span that have come, whether or not they are synced.
    private struct Note: Codable {
        let boot: String
        let counts: [Int64]
    }

    /// A first line that is on the disk, but does not yet have its name.
    struct Prepared: Sendable {
        fileprivate let file: OpenFile
        fileprivate let record: PartialRecord
        fileprivate let length: Int64
    }

    /// The most that a record may hold.
    private static let maximumLength = 1 << 20

    private let path: String
    /// Identifies the time since the system began; nil where that is not known, and no note is written.
    private let boot: String?
    /// The file to which notes are written, once there is one.
    private var current: Prepared?
    private var noteLength = 0

    init(path: String, boot: String?) {
        self.path = path
        self.boot = boot
    }

    // MARK: reading

    /// Reads what another run has left.
    /// - Parameters:
    ///   - source: What is asked for.
    ///   - length: The length of the partial file.
    /// - Returns: The record, and the part of it that is synced; nil if there is nothing to go on with.
    mutating func read(for source: String, fileOf length: Int64) -> (record: PartialRecord, synced: PartialRecord)? {
        // A hard link would have a note written to another's file.
        guard let file = try? OpenFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK), (try? file.hasOtherNames()) == false,
            let size = try? file.length(), size <= Self.maximumLength, let data = try? file.read(Int(size), at: 0)
        else { return nil }
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
        guard record.isValid(forFileOf: length) else { return nil }
        current = Prepared(file: file, record: synced, length: Int64(first.count))
        noteLength = Int(size) - first.count
        return (record, synced)
    }

    // MARK: writing

    /// Returns true if a note on a record needs no new first line.
    func canNote(_ record: PartialRecord) -> Bool { current?.record.hasSameShape(as: record) == true }

    /// Notes how many bytes have come.
    /// - Parameters:
    ///   - record: What is known.
    ///   - synced: What is known to be synced; nil for nothing.
    mutating func note(_ record: PartialRecord, synced: PartialRecord?) throws {
        guard let boot, record.validator != nil, record.count > 0 else { return }
        if !canNote(record) {
            let base = record.counting(as: synced)
            let prepared = try Self.write(base, path: path)
            // One that nothing is lost with need not be on the disk.
            if base.count > 0 { try prepared.file.sync() }
            try install(prepared, noting: nil)
        }
        try current.map { noteLength = try write(record, boot, to: $0, over: noteLength) }
    }

    /// Writes a note.
    /// - Returns: Its length.
    private func write(_ record: PartialRecord, _ boot: String, to prepared: Prepared, over old: Int) throws -> Int {
        let line = try Data("\n".utf8) + JSONEncoder().encode(Note(boot: boot, counts: record.spans.map(\.count)))
        try prepared.file.write(line, at: prepared.length)
        if line.count < old { try prepared.file.truncate(to: prepared.length + Int64(line.count)) }
        return line.count
    }

    /// Has a record of synced bytes on the disk, without its name. It may take long.
    static func prepare(_ record: PartialRecord, path: String) throws -> Prepared {
        let prepared = try write(record, path: path)
        try prepared.file.sync()
        return prepared
    }

    private static func write(_ record: PartialRecord, path: String) throws -> Prepared {
        let data = try JSONEncoder().encode(record)
        let file = try OpenFile(path + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
        try file.write(data, at: 0)
        return Prepared(file: file, record: record, length: Int64(data.count))
    }

    /// Replaces the file in one step.
    /// - Parameters:
    ///   - prepared: The record of what is synced.
    ///   - record: What is known by now; nil if nothing else is.
    mutating func install(_ prepared: Prepared, noting record: PartialRecord?) throws {
        var length = 0
        if let boot, let record, record.count > prepared.record.count, record.hasSameShape(as: prepared.record) {
            length = try write(record, boot, to: prepared, over: 0)
        }
        try OpenFile.rename(path + ".new", to: path)
        (current, noteLength) = (prepared, length)
    }

    /// Takes the note away, because bytes that it counts may be lost.
    mutating func removeNote() {
        if let current, noteLength > 0 { try? current.file.truncate(to: current.length) }
        noteLength = 0
    }

    /// Removes the file.
    /// - Returns: Whether there was one.
    @discardableResult
    mutating func remove() -> Bool {
        (current, noteLength) = (nil, 0)
        unlink(path + ".new")
        return unlink(path) == 0
    }
}

extension PartialRecord {
    /// Returns true if two records differ in their counts at most.
    fileprivate func hasSameShape(as other: PartialRecord) -> Bool {
        version == other.version && source == other.source && validator == other.validator && total == other.total
            && fileName == other.fileName && spans.elementsEqual(other.spans) { $0.start == $1.start && $0.end == $1.end }
    }

    /// The record with the counts of another one of the same file; with none where the two are cut differently.
    fileprivate func counting(as other: PartialRecord?) -> PartialRecord {
        var copy = self
        let isSame = other?.validator == validator && other?.spans.map(\.start) == spans.map(\.start)
        for index in spans.indices { copy.spans[index].count = isSame ? other?.spans[index].count ?? 0 : 0 }
        return copy
    }
}
