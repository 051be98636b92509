import Foundation
import NessLock

/// Opens the partial file of a download beside the destination, or in a temporary folder if the sandbox forbids that.
///
/// A sandboxed Mac app may write to the file that the user chose, but not make another one beside it. The temporary folder lies on the
/// destination's volume, so that the partial file can still be renamed. Another run of the app does not find it there.
final class PartialFileOpener: Sendable {
    private let isForbidden: @Sendable (FileError) -> Bool
    private let makeFolder: @Sendable (URL) throws -> URL?
    /// The path of the partial file in a temporary folder. `nil` if it lies beside the destination.
    private let temporaryPath = Lock<String?>(nil)

    /// Makes an opener. Tests replace the sandbox.
    /// - Parameters:
    ///   - isForbidden: Tells whether the sandbox is the reason of an error.
    ///   - makeFolder: Makes the temporary folder for a destination. `nil` if the platform offers none.
    init(
        isForbidden: @escaping @Sendable (FileError) -> Bool = { $0.code == EPERM },
        makeFolder: @escaping @Sendable (URL) throws -> URL? = PartialFileOpener.replacementFolder
    ) {
        self.isForbidden = isForbidden
        self.makeFolder = makeFolder
    }

    /// Opens the partial file.
    /// - Throws: `FileError`, for example if another process has the file open.
    func open(for download: DownloadRequest) async throws -> PartialFile {
        let temporary = temporaryPath.withLock { $0 }
        do {
            return try await PartialFile.open(
                path: temporary ?? download.partialPath, source: download.isResumable ? download.source : nil,
                expecting: download.target.expectation?.size, elapsed: download.elapsed)
        } catch let error as FileError {
            guard case .file(let file) = download.target.destination, temporary == nil, isForbidden(error),
                let folder = try? makeFolder(file)
            else { throw error }
            let name = URL(fileURLWithPath: download.partialPath).lastPathComponent
            temporaryPath.withLock { $0 = folder.appendingPathComponent(name, isDirectory: false).path }
            return try await open(for: download)
        }
    }

    /// Removes the temporary folder of a partial file that has got its final name. A later run makes another one.
    func removeTemporaryFolder() {
        guard let path = temporaryPath.withLock({ $0.take() }) else { return }
        rmdir(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    private static func replacementFolder(for file: URL) throws -> URL? {
        #if os(macOS)
        try FileManager.default.url(for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: file, create: true)
        #else
        nil
        #endif
    }
}
