import Foundation
import NessHTTP
import NessTesting
import Testing

/// Bytes that differ at every place.
func patternedData(_ count: Int, seed: UInt64 = 1) -> Data {
    var generator = SeededGenerator(seed: seed)
    var data = Data(capacity: count + 8)
    while data.count < count { withUnsafeBytes(of: generator.next()) { data.append(contentsOf: $0) } }
    return data.prefix(count)
}

/// A server with one file, which knows ranges (RFC 9110, 14): answers 206, 416 and If-Range as a good server does.
struct FileServer: Sendable {
    var content: Data
    var tag: String? = "\"v1\""
    var headers: HTTPHeaders = [:]
    var knowsRanges = true

    func reply(to request: ReceivedRequest) -> Reply {
        var headers = headers
        if let tag { headers["ETag"] = tag }
        if knowsRanges { headers["Accept-Ranges"] = "bytes" }
        guard knowsRanges, let range = request.headers["range"], isCurrent(request.headers["if-range"]) else {
            return .data(content, contentType: "application/octet-stream", headers: headers)
        }
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        guard let start = ends.first, start < content.count else {
            headers["Content-Range"] = "bytes */\(content.count)"
            return .status(416, headers: headers)
        }
        let end = min(ends.count > 1 ? ends[1] : content.count - 1, content.count - 1)
        headers["Content-Range"] = "bytes \(start)-\(end)/\(content.count)"
        return .data(content[(content.startIndex + start)...(content.startIndex + end)], status: 206, headers: headers)
    }

    private func isCurrent(_ condition: String?) -> Bool { condition == nil || condition == tag || condition == headers["last-modified"] }
}

/// A folder of its own, removed afterwards.
func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ness-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

extension URL {
    /// The names of what is in a folder.
    var entries: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
