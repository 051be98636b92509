import Foundation
import NessHTTP

/// `ness-demo upload URL -o FILE`: sends a file, shows how far it is, and can be interrupted at any moment: with a record, the same command
/// then continues.
enum Upload {
    static func run(_ url: String, headers: HTTPHeaders, file: String, record: String?, isDraft: Bool) async throws {
        let ness = Ness.default
        let here = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
        let record = record.map { URL(fileURLWithPath: $0, relativeTo: here) }
        let file = URL(fileURLWithPath: file, relativeTo: here)
        let upload = ness.post(url).set(headers: headers).set(retry: .backoff(maxRetryCount: 5)).uploadRequest(
            forFileLocation: file,
            resuming: isDraft
                ? .draft(record: record)
                : .tus(metadata: ["filename": file.lastPathComponent, "filetype": "application/octet-stream"], record: record))
        let sent = try await Transfer.finish(upload, of: ness, continues: record != nil)
        print("sent \(sent.uploadURL?.absoluteString ?? sent.message.request.url.absoluteString)")
    }
}
