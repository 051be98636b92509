import Foundation

/// Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload).
struct DraftProtocol: UploadProtocol {
    /// The version of the draft that clients and servers agree on.
    private static let interopVersion = "8"

    let checksum: UploadChecksum?

    var name: String { "ietf-draft" }

    func message(for step: UploadStep, of upload: RunningUpload) async throws -> UploadMessage? {
        var headers: HTTPHeaders = ["Upload-Draft-Interop-Version": Self.interopVersion]
        switch step {
        case .create:
            let bytes = creationBytes(of: upload)
            headers["Upload-Complete"] = bytes.upperBound == upload.length ? "?1" : "?0"
            headers["Upload-Length"] = "\(upload.length)"
            return try await part(bytes, of: upload, in: UploadMessage(upload.request.method, upload.request.url, headers))
        case .send, .finish:
            guard let url = upload.url else { return nil }
            let bytes = upload.nextPart
            headers[HeaderName.contentType] = "application/partial-upload"
            headers["Upload-Offset"] = "\(upload.offset)"
            headers["Upload-Complete"] = bytes.upperBound == upload.length ? "?1" : "?0"
            return try await part(bytes, of: upload, in: UploadMessage(.patch, url, headers))
        case .locate: return upload.url.map { UploadMessage(.head, $0, headers) }
        case .terminate: return upload.url.map { UploadMessage(.delete, $0, headers) }
        }
    }

    /// The bytes that the creation carries: none if the transport reports no interim responses, because a lost creation could then not be
    /// continued.
    private func creationBytes(of upload: RunningUpload) -> Range<Int64> { upload.receivesInterimResponses ? upload.nextPart : 0..<0 }

    private func part(_ bytes: Range<Int64>, of upload: RunningUpload, in message: UploadMessage) async throws -> UploadMessage {
        var message = message
        message.bytes = bytes
        if let checksum, !bytes.isEmpty {
            let digest = try await upload.digest(checksum, of: bytes).base64EncodedString()
            message.headers["Content-Digest"] = "\(checksum.fieldName)=:\(digest):"
        }
        return message
    }

    func read(_ response: HTTPResponse, to step: UploadStep, of upload: inout RunningUpload) -> UploadVerdict {
        if response.statusCode < 200 {
            guard step == .create, response.statusCode == 104, response.headers["Upload-Draft-Interop-Version"] == Self.interopVersion
            else { return .accepted }
            readLimit(of: response, &upload)
            upload.url = response.location ?? upload.url
            return .accepted
        }
        // What was sent, by the limit of that time.
        let bytes = step == .create ? creationBytes(of: upload) : upload.nextPart
        readLimit(of: response, &upload)
        let isComplete = response.headers["Upload-Complete"].map { $0.trimmingCharacters(in: .whitespaces) == "?1" }
        let verdict = UploadVerdict(response)
        guard case .accepted = verdict else {
            // With `?1`, even an error is the final response of the resource.
            if isComplete == true { return .failed }
            let isTooLong = response.statusCode == 413 && upload.maximumPartSize.map { $0 < Int64(bytes.count) } == true
            return isTooLong ? .conflict : verdict
        }
        switch step {
        case .create, .send, .finish:
            upload.offset = response.uploadOffset ?? bytes.upperBound
            // A server that does not know the draft takes the creation as a plain upload.
            upload.isComplete = isComplete ?? (step == .create && bytes.upperBound == upload.length)
            // After the end the field names the resource.
            if step == .create, !upload.isComplete, let location = response.location { upload.url = location }
            if !upload.isComplete, upload.url == nil { return .invalid("the server names no URL, so it does not continue uploads") }
        case .locate:
            guard let offset = response.uploadOffset else { return .invalid("the response names no offset") }
            upload.offset = offset
            upload.isComplete = isComplete == true
        case .terminate: break
        }
        if upload.isComplete, upload.offset != upload.length {
            return .invalid("the server takes the upload as complete with \(upload.offset) of \(upload.length) bytes")
        }
        return .accepted
    }

    /// Reads the dictionary of limits (RFC 9651).
    private func readLimit(of response: HTTPResponse, _ upload: inout RunningUpload) {
        for member in response.headers["Upload-Limit"]?.split(separator: ",") ?? [] {
            let parts = member.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if parts.count == 2, parts[0] == "max-append-size", let size = Int64(parts[1]), size > 0 { upload.maximumPartSize = size }
        }
    }
}

extension UploadChecksum {
    /// The name in `Content-Digest` (RFC 9530).
    fileprivate var fieldName: String {
        switch self {
        case .sha256: "sha-256"
        case .sha1: "sha"
        case .md5: "md5"
        }
    }
}
