import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// A suite that tests partial files without a server.
protocol PartialFileSuite {}

extension PartialFileSuite {
    /// Runs a test with an empty partial file.
    func withPartialFile(
        boot: String? = BootSession.current, syncFile: @escaping @Sendable (OpenFile, OpenFile.Sync) throws -> Void = { try $0.sync($1) },
        elapsed: @escaping @Sendable () -> Duration = { .zero }, _ body: (PartialFile, URL) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("a.ness-part")
            let file = try PartialFile(path: place.path, source: "s", boot: boot, syncFile: syncFile, elapsed: elapsed)
            try await body(file, place)
        }
    }

    func response(_ status: Int, _ headers: HTTPHeaders) throws -> HTTPResponse {
        HTTPResponse(statusCode: status, headers: headers, request: HTTPRequest(url: try url("https://example.com/a")))
    }

    func sink(_ file: PartialFile, _ requested: DownloadSink.RequestedBytes) -> DownloadSink {
        let target = DownloadTarget(destination: .folder(URL(filePath: "/")), segments: 1)
        return DownloadSink(file, of: target, span: 0, requested: requested)
    }

    /// Starts the body of a whole file, and writes its first bytes.
    func started(_ file: PartialFile, length: Int = 3, _ bytes: Data = Data("abc".utf8)) async throws -> DownloadSink {
        let sink = sink(file, .whole)
        #expect(try await sink.begin(try response(200, ["Content-Length": "\(length)", "ETag": "\"v1\""]), judgedBy: []))
        try await sink.write(bytes)
        return sink
    }

    /// Returns the number of bytes that another run finds if this one is killed now.
    /// - Parameter boot: Identifies the system's start, as that run sees it.
    func found(_ place: URL, boot: String) async throws -> Int64 {
        try await withFolder { folder in
            let copy = folder.appendingPathComponent("a.ness-part")
            // Not `FileManager.copyItem`: on Linux it never returns if a shorter file takes the place of the one that it copies, which a
            // sync in the background may do here.
            for end in ["", ".json"] where FileManager.default.fileExists(atPath: place.path + end) {
                try Data(contentsOf: URL(fileURLWithPath: place.path + end)).write(to: URL(fileURLWithPath: copy.path + end))
            }
            let file = try PartialFile(path: copy.path, source: "s", boot: boot, elapsed: { .zero })
            let count = file.record.count
            await file.close()
            return count
        }
    }
}
