import Foundation

/// tus 1.0.0: the core protocol, with the extensions `creation`, `creation-with-upload`, `expiration`, `checksum` and `termination`.
struct TusProtocol: UploadProtocol {
    let metadata: [String: String]
    let checksum: UploadChecksum?
    let createsWithContent: Bool

    var name: String { "tus-1.0.0" }

    func message(for step: UploadStep, of upload: RunningUpload) async throws -> UploadMessage? {
        var headers: HTTPHeaders = ["Tus-Resumable": "1.0.0"]
        switch step {
        case .create:
            headers["Upload-Length"] = "\(upload.length)"
            if !metadata.isEmpty { headers["Upload-Metadata"] = try encodedMetadata() }
            let bytes = createsWithContent ? upload.nextPart : 0..<0
            return try await part(bytes, of: upload, in: UploadMessage(.post, upload.request.url, headers))
        case .send:
            guard let url = upload.url else { return nil }
            headers["Upload-Offset"] = "\(upload.offset)"
            return try await part(upload.nextPart, of: upload, in: UploadMessage(.patch, url, headers))
        case .locate: return upload.url.map { UploadMessage(.head, $0, headers) }
        case .terminate: return upload.url.map { UploadMessage(.delete, $0, headers) }
        case .finish: return nil
        }
    }

    private func part(_ bytes: Range<Int64>, of upload: RunningUpload, in message: UploadMessage) async throws -> UploadMessage {
        guard !bytes.isEmpty else { return message }
        var message = message
        message.bytes = bytes
        message.headers[HeaderName.contentType] = "application/offset+octet-stream"
        if let checksum {
            let digest = try await upload.digest(checksum, of: bytes).base64EncodedString()
            message.headers["Upload-Checksum"] = "\(checksum.tusName) \(digest)"
        }
        return message
    }

    private func encodedMetadata() throws -> String {
        try metadata.sorted { $0.key < $1.key }.map { name, value in
            let isValid = !name.isEmpty && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: ",") }
            guard isValid else {
                throw InvalidRequest("the metadata's name \(name.debugDescription) has a space or comma, or is not ASCII")
            }
            return value.isEmpty ? name : "\(name) \(Data(value.utf8).base64EncodedString())"
        }.joined(separator: ",")
    }

    func read(_ response: HTTPResponse, to step: UploadStep, of upload: inout RunningUpload) -> UploadVerdict {
        let verdict = UploadVerdict(response)
        // tus lets a server respond with 403 for an upload that it does not know.
        if step == .locate, response.statusCode == 403, response.uploadOffset == nil { return .gone }
        guard case .accepted = verdict, response.statusCode >= 200 else { return verdict }
        if step == .create {
            guard let location = response.location else { return .invalid("the response to the creation names no URL") }
            upload.url = location
        }
        if let length = response.headers["Upload-Length"].flatMap({ Int64($0) }), length != upload.length {
            return .invalid("the upload on the server is for \(length) bytes, and the file has \(upload.length)")
        }
        let offset = response.uploadOffset
        switch step {
        case .create: upload.offset = offset ?? 0
        case .locate, .send:
            guard let offset else { return .invalid("the response names no offset") }
            upload.offset = offset
        case .finish, .terminate: break
        }
        upload.isComplete = upload.offset == upload.length
        return .accepted
    }
}

extension HTTPResponse {
    /// The number of bytes in `Upload-Offset`; `nil` if the field is missing or malformed.
    var uploadOffset: Int64? { headers["Upload-Offset"].flatMap { Int64($0) } }
}
