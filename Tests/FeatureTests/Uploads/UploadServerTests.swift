import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Resumable uploads over sockets: each protocol against a server that misbehaves.
@Suite struct UploadServerTests {
    enum Kind: CaseIterable {
        case tus, draft

        func resuming(record: URL? = nil, partSize: Int64? = nil) -> ResumableUpload {
            switch self {
            case .tus: .tus(record: record, partSize: partSize)
            case .draft: .draft(record: record, partSize: partSize)
            }
        }
    }

    /// Runs a closure with a server, a manager that retries, and a file.
    private func withUploads(
        _ count: Int = 1_000_000, completion: @escaping @Sendable (ResumableUploads.Upload) -> Reply = { _ in .status(200) },
        _ body: (ResumableUploads, Ness, URL, Data) async throws -> Void
    ) async throws {
        try await withServer(configure: { $0.retryControl = CounterRetryControl(maxRetryCount: 1) }) { server, ness in
            try await withUpload(count) { file, bytes in
                let folder = file.deletingLastPathComponent().appendingPathComponent("uploads", isDirectory: true)
                try await body(server.resumableUploads(in: folder, completion: completion), ness, file, bytes)
            }
        }
    }

    @Test("an upload arrives whole, and its URL is known", arguments: Kind.allCases, [0, 1, 1_000_000])
    func whole(kind: Kind, count: Int) async throws {
        try await withUploads(count) { uploads, ness, file, bytes in
            let done = try await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: kind.resuming()).value
            let upload = try #require(uploads.all.first)
            #expect(try upload.isComplete && uploads.all.count == 1 && Data(contentsOf: upload.fileURL) == bytes)
            #expect(done.uploadURL?.path == upload.path || (kind == .draft && done.uploadURL == nil && (Engine.isCurl || count == 0)))
            #expect((200..<300).contains(done.message.statusCode))
        }
    }

    @Test(
        "the file arrives whole, as one upload, despite each fault", arguments: Kind.allCases,
        [
            ("reset at the start", UploadFault.resets(after: 0), 1), ("reset in the middle", .resets(after: 300_000), 1),
            ("three resets", .resets(after: 100_000), 3),
            ("lost responses", .resets(after: .max), 2), ("less taken than sent", .acceptsLess(400_000), 1),
            ("busy", .answers(status: 503), 1),
        ])
    func faults(kind: Kind, fault: (name: String, fault: UploadFault, count: Int)) async throws {
        try await withUploads { uploads, ness, file, bytes in
            uploads.add(fault.fault, on: .patch, times: fault.count)
            let resuming = kind.resuming(partSize: kind == .draft ? 500_000 : nil)
            _ = try await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming).value
            let upload = try #require(uploads.all.last)
            #expect(try upload.isComplete && uploads.all.count == 1 && Data(contentsOf: upload.fileURL) == bytes)
        }
    }

    @Test("the URL of a 104 continues a creation that broke off", .enabled(if: Engine.isCurl))
    func interim() async throws {
        try await withUploads { uploads, ness, file, bytes in
            uploads.add(.announcesTwice)
            uploads.add(.stalls(after: 400_000), on: .post)
            let isNamed = TestGate()
            let request = ness.post("uploads").onInterim { _ in isNamed.open() }
            let upload = request.uploadRequest(forFileLocation: file, resuming: .draft())
            await uploads.waitUntil { $0.first?.receivedByteCount == 400_000 }
            await isNamed.wait()
            upload.pause()
            upload.resume()
            #expect(try await upload.value.message.statusCode == 200)
            let received = try #require(uploads.all.first)
            #expect(try received.isComplete && uploads.all.count == 1 && Data(contentsOf: received.fileURL) == bytes)
            #expect(uploads.requests.map(\.method) == [.post, .head, .patch])
        }
    }

    @Test("without a 104, a creation that carried the whole file is not repeated", .enabled(if: Engine.isCurl))
    func noInterim() async throws {
        try await withUploads { uploads, ness, file, _ in
            uploads.add(.noInterim)
            uploads.add(.resets(after: .max), on: .post)
            let error = await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: .draft()).nessError()
            #expect(error?.kind == .connectionLost && uploads.requests.count == 1)
        }
    }

    @Test("a server's limit of a part is respected")
    func limit() async throws {
        try await withUploads { uploads, ness, file, bytes in
            uploads.add(.limits(maximumAppendSize: 300_000))
            _ = try await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: .draft()).value
            let upload = try #require(uploads.all.last)
            #expect(try upload.isComplete && Data(contentsOf: upload.fileURL) == bytes)
            let parts = uploads.requests.filter { $0.status.map { (200..<300).contains($0) } == true }.map(\.receivedByteCount)
            #expect(parts.filter { $0 > 0 } == [300_000, 300_000, 300_000, 100_000])
        }
    }

    @Test("an upload that is forgotten starts over", arguments: Kind.allCases)
    func forgotten(kind: Kind) async throws {
        try await withUploads { uploads, ness, file, bytes in
            uploads.add(.forgets, on: .patch)
            let resuming = kind.resuming(partSize: 500_000)
            _ = try await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming).value
            let upload = try #require(uploads.all.last)
            #expect(try uploads.all.count == 2 && upload.isComplete && Data(contentsOf: upload.fileURL) == bytes)
        }
    }

    @Test(
        "a server that lies about the offset is an error", arguments: Kind.allCases,
        [UploadFault.liesAboutOffset(1_000_001), .liesAboutOffset(-1), .omitsOffset])
    func lies(kind: Kind, fault: UploadFault) async throws {
        try await withUploads { uploads, ness, file, _ in
            uploads.add(.answers(status: 503), on: .patch)
            uploads.add(fault, on: .head)
            let resuming = kind.resuming(partSize: 500_000)
            let error = await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming).nessError()
            #expect(error?.kind == .malformedResponse, "\(String(describing: error))")
        }
    }

    @Test(
        "each part carries a checksum, and a part that the server finds damaged (460) is sent again",
        arguments: [UploadChecksum.sha256, .sha1, .md5])
    func checksum(_ checksum: UploadChecksum) async throws {
        try await withUploads { uploads, ness, file, bytes in
            uploads.add(.answers(status: 460), on: .patch)
            let resuming = ResumableUpload.tus(partSize: 400_000, checksum: checksum)
            _ = try await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming).value
            let upload = try #require(uploads.all.first)
            #expect(try upload.isComplete && Data(contentsOf: upload.fileURL) == bytes)
            #expect(uploads.requests.map(\.status) == [201, 460, 200, 204, 204, 204])
            #expect(uploads.requests.filter { $0.method == .patch }.allSatisfy { $0.headers.contains("Upload-Checksum") })
        }
    }

    @Test("a part of the draft carries Content-Digest")
    func contentDigest() async throws {
        try await withUploads { uploads, ness, file, bytes in
            let resuming = ResumableUpload.draft(partSize: 600_000, checksum: .sha256)
            _ = try await ness.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming).value
            let digest = SHA256Hash.digest(of: bytes.suffix(400_000)).base64EncodedString()
            #expect(uploads.requests.last?.headers["Content-Digest"] == "sha-256=:\(digest):")
        }
    }

    @Test("an error of the resource after the end of an upload is final, and its record goes")
    func failed() async throws {
        try await withUploads(completion: { _ in .status(503) }) { uploads, ness, file, _ in
            let record = file.appendingPathExtension("record")
            let upload = ness.post("uploads").uploadRequest(forFileLocation: file, resuming: .draft(record: record, partSize: 600_000))
            let error = await upload.nessError()
            #expect(error?.kind == .validation && error?.response?.statusCode == 503)
            #expect(uploads.requests.last?.method == .patch && !FileManager.default.fileExists(atPath: record.path))
        }
    }

    @Test("another manager continues at the offset of a record", arguments: Kind.allCases)
    func record(kind: Kind) async throws {
        try await withUploads { uploads, ness, file, bytes in
            let record = file.appendingPathExtension("record")
            let resuming = kind.resuming(record: record, partSize: kind == .draft ? 250_000 : nil)
            uploads.add(.stalls(after: 200_000), on: .patch)
            let upload = ness.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming)
            let reached: Int64 = kind == .draft && Engine.isCurl ? 450_000 : 200_000
            await uploads.waitUntil { $0.first?.receivedByteCount == reached }
            upload.drop()
            let other = Ness { $0.baseURL = ness.configuration.baseURL }
            _ = try await other.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming).value
            let received = try #require(uploads.all.first)
            #expect(try received.isComplete && uploads.all.count == 1 && Data(contentsOf: received.fileURL) == bytes)
            let sent = uploads.requests.reduce(0) { $0 + $1.receivedByteCount }
            #expect(sent == 1_000_000 && !FileManager.default.fileExists(atPath: record.path))
        }
    }

    @Test("an upload is removed from the server by its protocol", arguments: Kind.allCases)
    func terminate(kind: Kind) async throws {
        try await withUploads { uploads, ness, file, _ in
            uploads.add(.stalls(after: 100_000), on: .patch)
            let resuming = kind.resuming(partSize: 400_000)
            let upload = ness.post("uploads").uploadRequest(forFileLocation: file, resuming: resuming)
            await uploads.waitUntil { _ in uploads.requests.contains { $0.method == .patch && $0.receivedByteCount >= 100_000 } }
            try await upload.terminate().value
            #expect(uploads.all.first?.isGone == true && uploads.requests.last?.method == .delete)
        }
    }

    @Test("progress is that of the file, and never goes back")
    func progress() async throws {
        try await withUploads { uploads, ness, file, _ in
            uploads.add(.resets(after: 300_000), on: .patch)
            let upload = ness.post("uploads").uploadRequest(forFileLocation: file, resuming: .tus())
            var values: [Int64] = []
            for await update in upload.progressUpdates { values.append(update.completedBytes) }
            _ = try await upload.value
            #expect(upload.progress == TransferProgress(completedBytes: 1_000_000, totalBytes: 1_000_000))
            #expect(values == values.sorted() && values.last == 1_000_000)
        }
    }
}
