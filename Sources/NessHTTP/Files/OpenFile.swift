import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An open file, by its descriptor: what Foundation's `FileHandle` lacks is writing at an offset, locking and syncing.
final class OpenFile: Sendable {
    private let opened: Lock<Int32>
    let path: String

    /// Opens a file.
    /// - Parameters:
    ///   - path: Where it is.
    ///   - flags: As of `open(2)`.
    /// - Throws: `FileFailure`.
    init(_ path: String, _ flags: Int32) throws {
        self.path = path
        let descriptor = open(path, flags | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileFailure("open", path) }
        opened = Lock(descriptor)
    }

    deinit { closeNow() }

    private var descriptor: Int32 { opened.withLock { $0 } }

    /// Closes the file, and gives its lock back. Whatever is done with it afterwards fails.
    func closeNow() {
        let descriptor = opened.withLock { opened in
            defer { opened = -1 }
            return opened
        }
        if descriptor >= 0 { close(descriptor) }
    }

    /// The length in bytes.
    func length() throws -> Int64 { Int64(try status().st_size) }

    private func status() throws -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure("look at", path) }
        return status
    }

    /// Returns true if the path, and no link at it, still leads to this file.
    func isAtItsPath() throws -> Bool {
        let mine = try status()
        var there = stat()
        return lstat(path, &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev
    }

    /// True if the file has another name besides this one: what is written here would change what another name leads to.
    func hasOtherNames() throws -> Bool { try status().st_nlink > 1 }

    /// Locks the file against every other who opens it, in this process or another, until it is closed. Does not wait.
    /// - Returns: False where someone else has it. A file system that knows no locks has nobody hold one.
    func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }

    func truncate(to length: Int64) throws {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileFailure("cut", path) }
    }

    /// Writes all of the bytes.
    func write(_ data: Data, at offset: Int64) throws {
        try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                let written = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
                if written < 0 {
                    if errno == EINTR { continue }
                    throw FileFailure("write", path)
                }
                done += written
            }
        }
    }

    /// Reads some bytes.
    /// - Parameter count: How many.
    /// - Throws: `FileFailure`, also where there are fewer.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let descriptor = descriptor
        let done = data.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) -> Int in
            var done = 0
            while done < bytes.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
                let result = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
                if result < 0 && errno == EINTR { continue }
                if result <= 0 { break }
                done += result
            }
            return done
        }
        guard done == count else { throw FileFailure("read", path) }
        return data
    }

    /// A file without a name, for reading and writing, which goes when it is closed.
    static func temporary() throws -> OpenFile {
        let name = FileManager.default.temporaryDirectory.appendingPathComponent("ness-\(UUID().uuidString)", isDirectory: false)
        let file = try OpenFile(name.path, O_RDWR | O_CREAT | O_EXCL)
        unlink(name.path)
        return file
    }

    /// Returns when what was written is on the disk.
    func sync() throws {
        #if canImport(Darwin)
        // There fsync leaves the bytes in the drive's cache, which a power cut empties.
        let result = fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : fsync(descriptor)
        #else
        let result = fdatasync(descriptor)
        #endif
        // A file system that can't sync has done what it can.
        guard result == 0 || errno == EINVAL else { throw FileFailure("sync", path) }
    }

    /// Has a folder's entries, such as a new name, on the disk.
    static func syncFolder(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }

    /// Gives a file a name that another may have, which is replaced in one step.
    static func rename(_ path: String, to newPath: String) throws {
        #if canImport(Darwin)
        let result = Darwin.rename(path, newPath)
        #elseif canImport(Musl)
        let result = Musl.rename(path, newPath)
        #else
        let result = Glibc.rename(path, newPath)
        #endif
        guard result == 0 else { throw FileFailure("rename", newPath) }
    }

    /// Gives a file a name that no other may have.
    /// - Parameter link: As of `link(2)`; a test has it fail.
    /// - Returns: Whether the name was free.
    static func renameIfFree(
        _ path: String, to newPath: String, link: (String, String) -> Int32 = { link($0, $1) }
    ) throws -> Bool {
        if link(path, newPath) == 0 {
            unlink(path)
            return true
        }
        if errno == EEXIST { return false }
        guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw FileFailure("name", newPath) }
        // The file system knows no links, as those of memory cards: the name is taken by an empty file first.
        let descriptor = open(newPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw FileFailure("name", newPath)
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

/// What the file system refused. Its text names the file, but not the folders above it.
package struct FileFailure: Error, CustomStringConvertible {
    /// The error number of the system call.
    package let code: Int32
    /// What was to be done, to which file, and why it was not.
    package let description: String

    init(_ operation: String, _ path: String, code: Int32 = errno) {
        self.code = code
        let name = path.split(separator: "/").last.map(String.init) ?? path
        description = "can't \(operation) \(name.debugDescription): \(String(cString: strerror(code)))"
    }

    /// A refusal of ours.
    init(_ description: String) {
        code = 0
        self.description = description
    }
}
