import NessLock

/// The files that this process has locked.
///
/// A lock of the system excludes other processes as well. But iOS ends an app that is suspended while it holds one in a container that it
/// shares with its extensions (exception code 0xdead10cc), and a download may be suspended at any time. So on Apple platforms other than
/// macOS, locks exclude this process only.
enum FileLocks {
    /// The reach of a lock.
    enum Scope: Sendable {
        /// The lock excludes all others in this process.
        case process
        /// The lock excludes all others in this process, and other processes.
        case system

        /// The widest reach that is safe on this platform.
        static var standard: Scope {
            #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            .process
            #else
            .system
            #endif
        }
    }

    /// Identifies a file, regardless of its name.
    struct Key: Sendable, Hashable {
        let device: UInt64
        let number: UInt64
    }

    /// The locked files of the process. Managers share them, so two managers exclude each other, as with the system's locks.
    private static let held = Lock<Set<Key>>([])

    /// Adds a file. Returns false if it is there.
    static func lock(_ key: Key) -> Bool { held.withLock { $0.insert(key).inserted } }

    static func unlock(_ key: Key) { held.withLock { _ = $0.remove(key) } }
}
