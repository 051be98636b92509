import Foundation

/// The time since the system began: what was written, but not synced, is not lost while it goes on.
enum BootSession {
    /// Identifies the time since the system began; nil where the system does not tell.
    static let current = read()

    private static func read() -> String? {
        #if canImport(Darwin)
        // The moment of the start. It moves when the system sleeps or its clock is set: then only what was synced counts, as after a new start,
        // which is always later.
        let start = Date().timeIntervalSince1970 - ProcessInfo.processInfo.systemUptime
        return "\(Int(start / 10))"
        #else
        let file = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") ?? Data()
        let identifier = String(decoding: file, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return identifier.isEmpty ? nil : identifier
        #endif
    }
}
