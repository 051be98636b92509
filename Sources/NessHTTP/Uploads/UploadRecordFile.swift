import Foundation
import NessLock

/// The file of a record. Only one upload of all processes has it open.
final class UploadRecordFile: Sendable {
    private struct State: Sendable {
        /// The locked file; `nil` after `close()`.
        var file: OpenFile?
        var written: UploadRecord?
        var hasSecret = false
    }

    /// The most bytes of a record.
    private static let maximumLength: Int64 = 1 << 20

    private let path: String
    private let state: Lock<State>

    /// Opens the file, or makes an empty one, and locks it.
    /// - Throws: `FileError`, for example if another upload uses the file, or if it is not a regular file.
    init(_ path: String) throws {
        self.path = path
        var file: OpenFile
        repeat {
            file = try OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
            guard FileIdentity(of: path) != nil else { throw Self.refusal }
            guard try file.lock() else { throw FileError("another upload is using this record") }
            // The upload that had the lock before may have replaced or removed the file.
        } while try !file.isAtItsPath()
        state = Lock(State(file: file))
    }

    private static var refusal: FileError { FileError("the file for the record is not the record of an upload") }

    /// Reads the record of an earlier run. `nil` without one.
    /// - Throws: `FileError` if the file is not a record. It must not be overwritten.
    func read() throws -> UploadRecord? {
        guard let file = state.withLock({ $0.file }) else { return nil }
        let length = try file.length()
        if length == 0 { return nil }
        guard length <= Self.maximumLength,
            let record = try? JSONDecoder().decode(UploadRecord.self, from: file.read(Int(length), at: 0))
        else { throw Self.refusal }
        return record.version == UploadRecord.currentVersion ? record : nil
    }

    /// Replaces the record in one step. Does nothing after `close()`, and for the record that was written last.
    func write(_ record: UploadRecord) throws {
        guard state.withLock({ $0.file != nil && $0.written != record }) else { return }
        // The name is new: another upload, or the user, may have any other.
        let part = "\(path).\(UUID().uuidString)"
        do {
            let file = try OpenFile(writing: JSONEncoder().encode(record), to: part, mode: 0o600)
            // Locked before it gets its name: no other upload may lock it first.
            _ = try file.lock()
            // Outside of the lock, which the end of the call takes.
            try file.sync(.inOrder)
            try state.withLock { state in
                guard let old = state.file, hasName(old) else { return _ = unlink(part) }
                try OpenFile.rename(part, to: path)
                (state.file, state.written) = (file, record)
            }
        } catch {
            unlink(part)
            throw error
        }
    }

    /// Returns true if the path leads to an open file. Somebody may have replaced it.
    private func hasName(_ file: OpenFile) -> Bool {
        guard let found = try? OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return false }
        return (try? found.key() == file.key()) == true
    }

    /// Notes that the upload has a secret, and so no record.
    /// - Returns: True for the first time.
    func noteSecret() -> Bool {
        state.withLock { state in
            defer { state.hasSecret = true }
            return !state.hasSecret
        }
    }

    /// Removes the file, and closes it.
    func remove() { end { _ in true } }

    /// Closes the file, which another upload may then use. An empty file is removed.
    func close() { end { (try? $0.length()) == 0 } }

    private func end(removingIf isUseless: (OpenFile) -> Bool) {
        state.withLock { state in
            guard let file = state.file.take() else { return }
            if isUseless(file), hasName(file) { unlink(path) }
            file.closeNow()
        }
    }
}
