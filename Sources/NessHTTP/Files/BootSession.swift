import Foundation

#if canImport(Darwin)
import Darwin
#endif

/// The time since the system began: what was written, but not synced, is not lost while it goes on.
enum BootSession {
    /// Identifies the time since the system began; nil where the system does not tell.
    static let current = read()

    private static func read() -> String? {
        #if canImport(Darwin)
        var length = 0
        guard sysctlbyname("kern.bootsessionuuid", nil, &length, nil, 0) == 0, length > 1 else { return nil }
        var text = [UInt8](repeating: 0, count: length)
        guard sysctlbyname("kern.bootsessionuuid", &text, &length, nil, 0) == 0 else { return nil }
        let identifier = String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        #else
        let file = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") ?? Data()
        let identifier = String(decoding: file, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        #endif
        return identifier.isEmpty ? nil : identifier
    }
}
