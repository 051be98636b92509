import Foundation
import NessLock

/// An open file, by its descriptor. Unlike Foundation's `FileHandle` it can write at an offset, lock and sync, and reads into memory of its
/// caller.
package final class OpenFile: Sendable {
    private struct State: Sendable {
        /// The descriptor. -1 after the file was closed.
        var descriptor: Int32
        /// The file's entry among the files that this process has locked.
        var locked: FileLocks.Key?
    }

    private let state: Lock<State>
    let path: String

    /// Opens a file.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - flags: The flags of `open(2)`. `O_CLOEXEC` is added.
    ///   - mode: The permissions of a new file, without those that the process masks.
    /// - Throws: `FileError`.
    package init(_ path: String, _ flags: Int32, mode: mode_t = 0o644) throws {
        self.path = path
        let descriptor = open(path, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw FileError("open", path) }
        state = Lock(State(descriptor: descriptor))
    }

    /// Makes a file with some bytes. An old file of that name is removed, not changed: it may be a hard link or a pipe.
    /// - Throws: `FileError`.
    package convenience init(writing data: Data, to path: String, mode: mode_t = 0o644) throws {
        unlink(path)
        try self.init(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        try write(data, at: 0)
    }

    /// Reads a whole file that any program may have written. `nil` if there is no regular file, or if it is longer than a limit.
    static func contents(of path: String, limit: Int64) -> Data? {
        // Does not follow a symbolic link, and does not wait for the writer of a pipe.
        guard let file = try? OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), let length = try? file.length(), length <= limit
        else { return nil }
        return try? file.read(Int(length), at: 0)
    }

    deinit { closeNow() }

    private var descriptor: Int32 { state.withLock { $0.descriptor } }

    /// Closes the file and releases its lock. Later operations fail.
    func closeNow() {
        var closed = State(descriptor: -1)
        state.withLock { swap(&$0, &closed) }
        // The locks are released before the descriptor is closed: afterwards another file may get the same number. The system's lock is
        // released first, and explicitly: a child process that is about to start has a copy of the descriptor for a moment, and would keep
        // the lock.
        if let key = closed.locked {
            _ = flock(closed.descriptor, LOCK_UN)
            FileLocks.unlock(key)
        }
        if closed.descriptor >= 0 { close(closed.descriptor) }
    }

    /// Locks the file against all others that lock it, until it is closed. Does not wait.
    /// - Parameter scope: The reach of the lock.
    /// - Returns: False if another `OpenFile` of this process or, for `.system`, another process holds the lock. True if the file system
    ///   does not support locks.
    /// - Throws: `FileError`.
    func lock(_ scope: FileLocks.Scope = .standard) throws -> Bool {
        let key = try key()
        guard FileLocks.lock(key) else { return false }
        state.withLock { $0.locked = key }
        return scope == .process || flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    /// The identity of the file, regardless of its name.
    func key() throws -> FileLocks.Key {
        let status = try status()
        return FileLocks.Key(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
    }

    /// The length in bytes.
    func length() throws -> Int64 { Int64(try status().st_size) }

    private func status() throws -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError("look at", path) }
        return status
    }

    /// Returns true if the path still leads to this file, and not through a symbolic link.
    func isAtItsPath() throws -> Bool {
        let mine = try status()
        var there = stat()
        return lstat(path, &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev
    }

    /// Returns true if the file has a second hard link. A write to this file would then change the file under both names.
    func hasOtherNames() throws -> Bool { try status().st_nlink > 1 }

    package func truncate(to length: Int64) throws {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileError("cut", path) }
    }

    /// Writes all of the bytes.
    package func write(_ data: Data, at offset: Int64) throws {
        let descriptor = descriptor
        let done = try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            try repeated("write", upTo: bytes.count) { done in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                return pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            }
        }
        guard done == data.count else { throw FileError("write", path) }
    }

    /// Reads exactly `count` bytes.
    /// - Parameter count: The number of bytes.
    /// - Throws: `FileError`, for example if there are fewer bytes.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        let data = try read(upTo: count, at: offset)
        guard data.count == count else { throw FileError("read", path) }
        return data
    }

    /// Reads bytes until there are `count`, or until the end of the file.
    /// - Throws: `FileError`.
    func read(upTo count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let descriptor = descriptor
        let done = try data.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) in
            try repeated("read", upTo: bytes.count) { done in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
                return pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            }
        }
        if done < count { data.removeSubrange(done...) }
        return data
    }

    /// Repeats a system call that moves some of the bytes, until all are moved or the call moves none.
    /// - Parameter call: Takes the number of bytes so far, and returns the number of bytes that it has moved, or -1.
    /// - Returns: The number of bytes.
    private func repeated(_ operation: String, upTo count: Int, _ call: (Int) -> Int) throws -> Int {
        var done = 0
        while done < count {
            let moved = call(done)
            if moved < 0 && errno == EINTR { continue }
            if moved < 0 { throw FileError(operation, path) }
            if moved == 0 { break }
            done += moved
        }
        return done
    }

    /// Makes a file without a name, for reading and writing. The system deletes it when it is closed.
    static func temporary() throws -> OpenFile {
        let name = FileManager.default.temporaryDirectory.appendingPathComponent("ness-\(UUID().uuidString)", isDirectory: false)
        let file = try OpenFile(name.path, O_RDWR | O_CREAT | O_EXCL)
        unlink(name.path)
        return file
    }

    /// The strength of a sync.
    enum Sync: Sendable {
        /// The written bytes reach the disk before all bytes that are written later. A crash of the system may lose both.
        case inOrder
        /// The written bytes are on the disk.
        case whole
    }

    /// Syncs the file. On Linux both strengths are the same.
    func sync(_ strength: Sync) throws {
        #if canImport(Darwin)
        // On Darwin, fsync leaves the bytes in the drive's cache, which a power failure empties. F_FULLFSYNC empties the whole cache, which
        // stalls every program that uses the disk, so it is kept for the one sync that a finished file needs.
        if strength == .inOrder, fcntl(descriptor, F_BARRIERFSYNC) == 0 { return }
        let result = fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : fsync(descriptor)
        #else
        let result = fdatasync(descriptor)
        #endif
        // EINVAL: the file system does not support syncing. There is no other way to sync.
        guard result == 0 || errno == EINVAL else { throw FileError("sync", path) }
    }

    /// Syncs a folder's entries, such as a new name. Errors are ignored.
    static func syncFolder(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }

    /// Removes an unfinished file that a killed process left behind. A write takes milliseconds: a file of less than an hour stays, because
    /// another process may be writing it.
    static func removeLeftover(_ path: String) {
        guard let written = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date,
            written < Date(timeIntervalSinceNow: -3_600)
        else { return }
        unlink(path)
    }

    /// Writes a file in one step, so that it is always complete. Does not sync it: a crash of the system may lose or damage it.
    /// - Parameters:
    ///   - path: The path of the file. A file with this name is replaced.
    ///   - data: The bytes.
    ///   - part: The path of the file while it is written, in the same folder.
    ///   - mode: The permissions, without those that the process masks. By default, only this user may read the file.
    /// - Throws: `FileError`. Nothing is left at `part`.
    static func replace(_ path: String, by data: Data, through part: String, mode: mode_t = 0o600) throws {
        do {
            _ = try OpenFile(writing: data, to: part, mode: mode)
            try rename(part, to: path)
        } catch {
            unlink(part)
            throw error
        }
    }

    /// Renames a file. A file with the new name is replaced in one step.
    static func rename(_ path: String, to newPath: String) throws {
        guard Foundation.rename(path, newPath) == 0 else { throw FileError("rename", newPath) }
    }

    /// Renames a file, unless a file with the new name exists.
    /// - Parameter link: The function `link(2)`. Tests make it fail.
    /// - Returns: True if the name was free.
    static func renameIfFree(
        _ path: String, to newPath: String, link: (String, String) -> Int32 = { link($0, $1) }
    ) throws -> Bool {
        if link(path, newPath) == 0 {
            unlink(path)
            return true
        }
        if errno == EEXIST { return false }
        guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw FileError("name", newPath) }
        // The file system has no hard links, like those of memory cards. Reserve the name with an empty file first.
        let descriptor = open(newPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw FileError("name", newPath)
        }
        close(descriptor)
        do {
            try rename(path, to: newPath)
        } catch {
            unlink(newPath)
            throw error
        }
        return true
    }
}

/// A failed operation of the file system. Its text names the file, but not the folders above it.
package struct FileError: Error, CustomStringConvertible {
    /// The error number of the system call.
    package let code: Int32
    private let operation: String
    /// `nil` for an error that Ness itself detected.
    private let path: String?

    init(_ operation: String, _ path: String, code: Int32 = errno) { (self.code, self.operation, self.path) = (code, operation, path) }

    /// Makes an error that Ness itself detected. Its code is 0.
    init(_ description: String) { (code, operation, path) = (0, description, nil) }

    /// The operation, the file and the reason. Made only when it is shown, because a lookup in the cache's folder often fails.
    package var description: String {
        guard let path else { return operation }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return "can't \(operation) \(name.debugDescription): \(String(cString: strerror(code)))"
    }
}
