import Foundation

/// The folder for the files of the programs. Its path is the same in each process that runs alone, because the order of dictionaries
/// depends on it.
enum Scratch {
    static let folder: URL = {
        for number in 0..<64 {
            let folder = FileManager.default.temporaryDirectory.appending(path: "ness-simulation/\(number)")
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            // Held until the process ends.
            let lock = open(folder.appending(path: "lock").path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
            if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 { return folder }
        }
        fatalError("no folder is free")
    }()
}
