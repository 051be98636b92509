import Foundation

/// The attributes that only a partial file has, on Apple platforms. A download works without them, so errors are ignored.
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

    /// Sets the protection. A Mac protects no single file.
    private static func protect(_ path: String, _ protection: Any?) {
        #if !os(macOS)
        guard let protection else { return }
        try? FileManager.default.setAttributes([.protectionKey: protection], ofItemAtPath: path)
        #endif
    }
    #endif
}
