import Foundation

/// The attributes of a partial file that other files do not have, on Apple platforms. Elsewhere there are none. Errors are ignored: a download
/// works without them.
enum PartialFileAttributes {
    /// Excludes a partial file from backups, and lets it be written while the device is locked.
    static func set(at path: String) {
        #if canImport(Darwin)
        protect(path, FileProtectionType.completeUntilFirstUserAuthentication)
        exclude(path, true)
        #endif
    }

    /// Gives a complete file the attributes of a new file in its folder.
    static func reset(at path: String) {
        #if canImport(Darwin)
        exclude(path, false)
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        protect(path, (try? FileManager.default.attributesOfItem(atPath: folder))?[.protectionKey])
        #endif
    }

    #if canImport(Darwin)
    private static func exclude(_ path: String, _ isExcluded: Bool) {
        var url = URL(fileURLWithPath: path), values = URLResourceValues()
        values.isExcludedFromBackup = isExcluded
        try? url.setResourceValues(values)
    }

    /// Sets the protection. On a Mac there is none.
    private static func protect(_ path: String, _ protection: Any?) {
        #if !os(macOS)
        guard let protection else { return }
        try? FileManager.default.setAttributes([.protectionKey: protection], ofItemAtPath: path)
        #endif
    }
    #endif
}
