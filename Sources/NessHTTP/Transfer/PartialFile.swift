import Dispatch
import Foundation

/// A file on its way: what has come lies beside its destination until it is whole.
///
/// `name.ness-part` holds the bytes and `name.ness-part.json` what is known of them. The bytes are synced in the background, and only then
/// does the record count them. The lock on the first keeps everyone else away, in this process and in others.
final class PartialFile: Sendable {
    private struct State: Sendable {
        var record: PartialRecord
        /// How many bytes have come since the last sync began.
        var unsynced: Int64 = 0
        var isSyncing = false
        var isClosed = false
    }

    /// After how many bytes a sync begins, unless one still runs.
    private static let syncInterval: Int64 = 2 << 20

    private let file: OpenFile
    private let recordPath: String
    private let state: Lock<State>
    /// Where syncing and what else takes its time is done.
    private let queue = DispatchQueue(label: "ness.partial-file")

    /// Opens what is there for a source, or begins anew.
    /// - Parameters:
    ///   - path: Where the bytes lie until they are whole.
    ///   - source: Where they come from.
    /// - Throws: `FileFailure`, also when someone else is at it.
    init(path: String, source: URL) throws {
        recordPath = path + ".json"
        file = try Self.openLocked(path)
        let name = PartialRecord.source(source)
        let length = try file.length()
        var record = PartialRecord(source: name)
        if length > 0, let data = FileManager.default.contents(atPath: recordPath), data.count < 1 << 20,
            let found = try? JSONDecoder().decode(PartialRecord.self, from: data), found.source == name, found.isValid(forFileOf: length)
        {
            record = found
            // The tail that the record does not know may be torn.
            if record.spans.count == 1 { try file.truncate(to: record.spans[0].next) }
        } else {
            unlink(recordPath)
            try file.truncate(to: 0)
        }
        state = Lock(State(record: record))
    }

    private static func openLocked(_ path: String) throws -> OpenFile {
        while true {
            let file = try OpenFile(path, O_RDWR | O_CREAT)
            guard file.lock() else { throw FileFailure("another download is at work on this destination") }
            // Whoever had it until now may have given it its final name.
            if try file.isAtItsPath() { return file }
        }
    }

    // MARK: what there is

    var record: PartialRecord { state.withLock { $0.record } }

    /// How many bytes there are, and how many there will be.
    var progress: (completed: Int64, total: Int64?) { state.withLock { ($0.record.count, $0.record.total) } }

    // MARK: what comes

    /// Forgets what is there.
    func restart() throws {
        unlink(recordPath)
        try file.truncate(to: 0)
        state.withLock { $0.record = PartialRecord(source: $0.record.source) }
    }

    /// Sets what a response's head told.
    /// - Parameters:
    ///   - spanCount: Into how many parts to cut what is to be fetched.
    func begin(validator: String?, total: Int64?, spanCount: Int = 1) {
        state.withLock { state in
            state.record.validator = validator
            state.record.total = total
            guard let total, spanCount > 1, total >= Int64(spanCount), state.record.spans.count == 1 else {
                if let total, state.record.spans.count == 1 { state.record.spans[0].end = total }
                return
            }
            let size = total / Int64(spanCount)
            state.record.spans = (0..<Int64(spanCount)).map { index in
                PartialRecord.Span(start: index * size, end: index == Int64(spanCount) - 1 ? total : (index + 1) * size)
            }
        }
    }

    /// Adds bytes to a span.
    /// - Throws: `FileFailure`; `CancellationError` once the file is closed, or when there are more bytes than there may be.
    func write(_ data: Data, toSpan index: Int) throws {
        let syncs: Bool = try state.withLock { state in
            guard !state.isClosed, state.record.spans.indices.contains(index) else { throw CancellationError() }
            let span = state.record.spans[index]
            if let end = span.end, span.next + Int64(data.count) > end {
                throw TransportError(.malformedResponse, "more bytes came than the range has")
            }
            // Within the lock, so that nothing is written once `close` has returned.
            try file.write(data, at: span.next)
            state.record.spans[index].count += Int64(data.count)
            state.unsynced += Int64(data.count)
            guard state.unsynced >= Self.syncInterval, !state.isSyncing else { return false }
            state.isSyncing = true
            state.unsynced = 0
            return true
        }
        if syncs { queue.async { [self] in sync() } }
    }

    private func sync() {
        // Taken before: what comes while the disk works is not counted.
        let known = record
        if (try? file.sync()) != nil { try? writeRecord(known) }
        state.withLock { $0.isSyncing = false }
    }

    /// Replaces the record in one step.
    private func writeRecord(_ record: PartialRecord) throws {
        guard record.validator != nil else { return }
        let data = try JSONEncoder().encode(record)
        let temporary = recordPath + ".new"
        let file = try OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC)
        try file.write(data, at: 0)
        try file.sync()
        try OpenFile.rename(temporary, to: recordPath)
    }

    // MARK: the end

    /// Takes nothing more, and has what came ready for another run; without a validator nobody could go on, so it is removed.
    func close() async {
        state.withLock { $0.isClosed = true }
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let record = record
                if record.validator != nil, record.count > 0 { sync() } else { remove() }
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
    /// - Throws: `FileFailure`; `TransportError` of the kind `truncated` where the file is not whole.
    func finish(as destination: URL, replaces: Bool) async throws -> URL {
        state.withLock { $0.isClosed = true }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                let result = Result { try finishNow(destination, replaces) }
                if case .success = result { file.closeNow() }
                continuation.resume(with: result)
            }
        }
    }

    private func finishNow(_ destination: URL, _ replaces: Bool) throws -> URL {
        let record = record
        let length = try file.length()
        guard record.count == length, record.total ?? length == length else {
            throw TransportError(.truncated, "\(record.count) of \(record.total ?? length) bytes of the file came")
        }
        try file.sync()
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
        unlink(recordPath)
        return place
    }

    private func remove() {
        unlink(file.path)
        unlink(recordPath)
    }
}

extension URL {
    /// `name (2).ext` for `name.ext`.
    fileprivate func numbered(_ number: Int) -> URL {
        let name = deletingPathExtension().lastPathComponent + " (\(number))"
        let folder = deletingLastPathComponent()
        return folder.appendingPathComponent(pathExtension.isEmpty ? name : "\(name).\(pathExtension)", isDirectory: false)
    }
}
