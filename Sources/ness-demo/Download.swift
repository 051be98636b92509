import Foundation
import NessHTTP

/// `ness-demo download URL`: saves a file, shows how far it is, and can be interrupted at any moment: the same command then continues.
enum Download {
    static func run(_ url: String, headers: HTTPHeaders, file: String?, segments: Int) async throws {
        let ness = Ness.default
        let here = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
        let request = ness.httpRequest(.get, withUrl: url).set(headers: headers).set(retry: .backoff(maxRetryCount: 5))
        let download =
            file.map {
                request.downloadRequest(forSavedLocation: URL(fileURLWithPath: $0, relativeTo: here), segments: segments)
            }
            ?? request.downloadRequest(intoFolder: here, segments: segments)
        let saved = try await Transfer.finish(download, of: ness)
        print("saved \(saved.dataLocalURL.path)")
    }
}
