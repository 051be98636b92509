import Foundation

/// The time since the system's start. Bytes that were written but not synced are safe until the next start.
enum BootSession {
    /// Identifies the time since the system's start. `nil` if the system does not tell.
    static let current = read()

    private static func read() -> String? {
        #if canImport(Darwin)
        // The time of the start. It changes when the system sleeps or its clock is set. Then only synced bytes count, as after a restart,
        // which always gives a later time.
        let start = Date().timeIntervalSince1970 - ProcessInfo.processInfo.systemUptime
        return "\(Int(start / 10))"
        #else
        let file = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") ?? Data()
        let identifier = String(decoding: file, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return identifier.isEmpty ? nil : identifier
        #endif
    }
}
