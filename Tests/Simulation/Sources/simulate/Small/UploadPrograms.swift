import Foundation
import NessHTTP
import NessLock

/// Small programs about resumable uploads.
enum UploadPrograms {
    private static let content = Data((0..<4_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })

    /// A server of tus with one upload. A newer request ends the older one, as a server does that locks its uploads.
    private final class Server: Sendable {
        struct State: Sendable {
            var bytes: Data?
            var creations = 0
            /// The number of the newest request.
            var newest = 0
        }

        let state = Lock(State())
        let losesConnections: Bool

        init(losesConnections: Bool) { self.losesConnections = losesConnections }

        func serve(_ connection: Connection) async throws {
            let request = connection.request
            let number = state.withLock { state in
                state.newest += 1
                return state.newest
            }
            try await connection.wait(.milliseconds(Int.random(in: 0...3)))
            switch request.method {
            case .post:
                state.withLock { ($0.bytes, $0.creations) = (Data(), $0.creations + 1) }
                try await answer(connection, 201, ["Location": "/upload"])
            case .head: try await answer(connection, state.withLock { $0.bytes } == nil ? 404 : 200)
            case .delete:
                state.withLock { $0.bytes = nil }
                try await answer(connection, 204)
            default: try await receive(connection, number)
            }
        }

        private func receive(_ connection: Connection, _ number: Int) async throws {
            guard let bytes = state.withLock({ $0.bytes }) else { return try await answer(connection, 404) }
            guard connection.request.headers["Upload-Offset"] == "\(bytes.count)" else { return try await answer(connection, 409) }
            let reader = connection.request.body?.makeReader()
            var sent = 0
            while let piece = try await reader?.next(upTo: 500), !piece.isEmpty {
                sent += piece.count
                try await connection.report(.sent(Int64(sent)))
                try await connection.wait(.milliseconds(2))
                try loseConnection()
                let isNewest = state.withLock { state in
                    guard state.newest == number, state.bytes != nil else { return false }
                    state.bytes?.append(piece)
                    return true
                }
                guard isNewest else { throw TransportError(.connectionLost, "a newer request has ended this one") }
            }
            try loseConnection()
            try await answer(connection, 204)
        }

        private func loseConnection() throws {
            if losesConnections, Int.random(in: 0..<12) == 0 { throw TransportError(.connectionLost, "lost") }
        }

        private func answer(_ connection: Connection, _ status: Int, _ headers: HTTPHeaders = [:]) async throws {
            var headers = headers
            headers["Upload-Offset"] = state.withLock { $0.bytes }.map { "\($0.count)" }
            try await connection.respond(status, headers, "")
        }

        /// The bytes of the upload, which are always the start of the file.
        func bytes(_ stage: Stage) -> Data? {
            let bytes = state.withLock { $0.bytes }
            stage.expect(bytes.map { content.starts(with: $0) } ?? true, "the server's bytes are no prefix of the file")
            return bytes
        }
    }

    /// Runs a closure with a server, a manager, and the file in a new folder, which is removed afterwards.
    private static func withUpload(
        _ stage: Stage, losesConnections: Bool = true, _ body: (Server, RequestBuilder, _ file: URL, _ record: URL) async throws -> Void
    ) async throws {
        let folder = Scratch.folder.appending(path: "upload")
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "file"), server = Server(losesConnections: losesConnections)
        try content.write(to: file)
        let ness = stage.manager(serve: { try await server.serve($0) }) {
            $0.retryControl = CounterRetryControl(maxRetryCount: 1_000)
            $0.retryBudget = .unlimited
        }
        try await body(server, ness.post(Stage.url), file, folder.appending(path: "record"))
    }

    static let all: [SmallProgram] = [
        SmallProgram(
            "upload-pause-and-loss", "an upload that is paused, resumed and interrupted at any moment arrives whole, as one upload"
        ) { stage in
            try await withUpload(stage) { server, request, file, record in
                let upload = request.uploadRequest(
                    forFileLocation: file, resuming: .tus(record: record, partSize: Bool.random() ? 900 : nil))
                try await stage.together(
                    { _ = try await upload.value },
                    {
                        for _ in 0..<3 {
                            try await stage.moment()
                            upload.pause()
                            if Bool.random() { try await stage.moment() }
                            upload.resume()
                        }
                    })
                stage.expect(server.bytes(stage) == content, "the upload is not whole")
                stage.expect(!FileManager.default.fileExists(atPath: record.path), "the record is left")
            }
        },
        SmallProgram("upload-drop-and-record", "the same call after a drop continues the upload of the record, and a success is whole") {
            stage in
            try await withUpload(stage) { server, request, file, record in
                let resuming = ResumableUpload.tus(record: record)
                for _ in 0..<2 {
                    let upload = request.uploadRequest(forFileLocation: file, resuming: resuming)
                    try await stage.meet({ _ = try? await upload.value }, { upload.drop() })
                    if upload.result != nil {
                        stage.expect(server.bytes(stage) == content, "the upload is not whole")
                        break
                    }
                    let isRecorded = (try? Data(contentsOf: record)).map { !$0.isEmpty } ?? false
                    let creations = server.state.withLock { $0.creations }
                    _ = try await request.uploadRequest(forFileLocation: file, resuming: resuming).value
                    stage.expect(server.bytes(stage) == content, "the upload is not whole")
                    if isRecorded { stage.expect(server.state.withLock { $0.creations } == creations, "a recorded upload started over") }
                }
            }
        },
        SmallProgram("upload-terminate", "an upload that is terminated at any moment leaves nothing, or has succeeded") { stage in
            try await withUpload(stage, losesConnections: false) { server, request, file, record in
                let upload = request.uploadRequest(forFileLocation: file, resuming: .tus(record: record))
                try await stage.moment()
                let hadURL = upload.uploadURL != nil
                try await upload.terminate().value
                try await Task.sleep(for: .seconds(1))
                let bytes = server.bytes(stage)
                stage.expect(upload.isCompleted, "the upload has not ended")
                // A creation whose response has not arrived may leave an empty upload.
                let mayStay = bytes == content || !hadURL && bytes?.isEmpty == true
                stage.expect(bytes == nil || mayStay, "the server has \(bytes?.count ?? 0) bytes")
                stage.expect(!FileManager.default.fileExists(atPath: record.path), "the record is left")
            }
        },
    ]
}
