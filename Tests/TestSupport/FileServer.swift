import Foundation
import NessHTTP
import NessTesting
import Testing

/// A server with one file. It answers ranges (RFC 9110, 14) with 206, 416 and If-Range as a good server does.
package struct FileServer: Sendable {
    package var content: Data
    package var tag: String? = "\"v1\""
    package var headers: HTTPHeaders = [:]
    package var knowsRanges = true

    package init(content: Data, tag: String? = "\"v1\"", headers: HTTPHeaders = [:], knowsRanges: Bool = true) {
        (self.content, self.tag, self.headers, self.knowsRanges) = (content, tag, headers, knowsRanges)
    }

    package func reply(to request: ReceivedRequest) -> Reply {
        if knowsRanges { return .file(content, entityTag: tag, headers: headers, for: request) }
        var headers = headers
        if let tag { headers["ETag"] = tag }
        return .data(content, headers: headers)
    }
}

extension Reply {
    /// Returns a 206 without the fields that RFC 9110, 15.3.7, wants left out after an If-Range.
    package func withoutRepetition() -> Reply {
        guard case .full(206, var headers, let body) = content else { return self }
        headers.remove(["Content-Type", "Content-Encoding", "Content-Disposition", "Last-Modified"])
        // As a script, because the test server adds a Content-Type.
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return .script([.send("HTTP/1.1 206 Partial\r\nContent-Length: \(body.count)\r\n\(fields)\r\n"), .sendData(body)])
    }

    /// Returns the reply in chunks, without a length. If `count` is given, the body is cut after that number of bytes.
    package func inChunks(cutAfter count: Int? = nil) -> Reply {
        guard case .full(let status, let headers, let body) = content else { return self }
        guard let count else { return .chunked([body], status: status, headers: headers) }
        var head = "HTTP/1.1 \(status) Cut\r\nTransfer-Encoding: chunked\r\n"
        for field in headers { head += "\(field.name): \(field.value)\r\n" }
        return .script([.send(head + "\r\n" + String(count, radix: 16) + "\r\n"), .sendData(body.prefix(count)), .send("\r\n"), .close])
    }
}

/// A folder, a server, and a manager that downloads from the server into the folder.
package struct DownloadRig {
    package let folder: URL
    package let server: TestServer
    package let ness: Ness
    package let gates: ReceiveGates

    package var file: URL { folder.appendingPathComponent("a.bin") }
    /// The content of the file; `nil` if there is no file.
    package var saved: Data? { FileManager.default.contents(atPath: file.path) }
    package var partial: URL { folder.appendingPathComponent("a.bin.ness-part") }
    package var sidecar: URL { folder.appendingPathComponent("a.bin.ness-part.json") }

    /// Starts a download to `file`.
    package func start(
        _ path: String = "a", identifiedBy identifier: String? = nil, segments: Int = 1, coding: DownloadCoding = .refused,
        expecting expectation: FileExpectation? = nil, with control: (any RetryControl)? = nil
    ) -> DownloadPromise {
        ness.httpRequest(withUrl: path).set(retry: control).downloadRequest(
            forSavedLocation: file, identifiedBy: identifier, segments: segments, coding: coding, expecting: expectation)
    }

    /// Suspends until a download has a given number of bytes.
    package func wait(for count: Int64, of promise: DownloadPromise) async {
        await gates.changed.wait { promise.progress.completedBytes >= count }
    }

    /// The Range fields of all requests so far.
    package var ranges: [String?] { server.requests.map { $0.headers["range"] } }

    /// Changes the record beside the partial file.
    package func editRecord(_ change: (inout [String: Any]) -> Void) throws {
        var record = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: sidecar)) as? [String: Any])
        change(&record)
        try JSONSerialization.data(withJSONObject: record).write(to: sidecar)
    }
}

/// Runs a test with a rig. The reply depends on the number of the request, counted from 1.
package func withDownloads(
    _ answer: @escaping @Sendable (Int, ReceivedRequest) async -> Reply,
    configure: (inout Ness.Configuration) -> Void = { _ in }, _ body: (DownloadRig) async throws -> Void
) async throws {
    try await withFolder { folder in
        let gates = ReceiveGates()
        try await withServer({ await answer($0.number, $0) }) {
            configure(&$0)
            gates.install(in: &$0)
        } _: { server, ness in
            try await body(DownloadRig(folder: folder, server: server, ness: ness, gates: gates))
        }
    }
}

/// Runs a test with a rig whose server has a file.
/// - Parameter change: Changes the reply to a request. The requests are numbered from 1.
package func withDownloads(
    of server: FileServer, _ change: @escaping @Sendable (ReceivedRequest, Reply) async -> Reply = { $1 },
    configure: (inout Ness.Configuration) -> Void = { _ in }, _ body: (DownloadRig) async throws -> Void
) async throws {
    try await withDownloads({ await change($1, server.reply(to: $1)) }, configure: configure, body)
}

/// The first reply ends after 100,000 bytes of its body; the others are whole.
package let cutsFirst: @Sendable (ReceivedRequest, Reply) async -> Reply = { $0.number == 1 ? $1.cut(after: 100_000) : $1 }
/// The first reply stops after 100,000 bytes of its body, and its connection stays open; the others are whole.
package let stallsFirst: @Sendable (ReceivedRequest, Reply) async -> Reply = { $0.number == 1 ? $1.cut(after: 100_000, then: .stall) : $1 }
