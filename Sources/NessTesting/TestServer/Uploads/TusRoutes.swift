import Foundation
import NessHTTP

/// The responses of tus 1.0.0 (https://tus.io/protocols/resumable-upload), with the extensions creation, creation-with-upload,
/// creation-defer-length, expiration, checksum and termination.
///
/// | the server must | kept in |
/// |---|---|
/// | send `Tus-Resumable` in each response but that to OPTIONS | `reply(_:_:)` |
/// | reject another version with a 412 and `Tus-Version`, without processing | `rejectionOfVersion` |
/// | take the method of `X-HTTP-Method-Override` | `UploadExchange.init` |
/// | HEAD: send `Upload-Offset`, `Upload-Length` or `Upload-Defer-Length`, `Upload-Metadata`, and `no-store` | `head(_:)` |
/// | PATCH: reject another offset with a 409, unchanged | `append(to:)` |
/// | PATCH: respond with a 204 and the new offset | `append(to:)` |
/// | OPTIONS: send `Tus-Version`, `Tus-Extension` and `Tus-Checksum-Algorithm`; ignore `Tus-Resumable` | `options` |
/// | POST: require a length or `Upload-Defer-Length: 1`; 413 beyond `Tus-Max-Size`; 201 with `Location` | `create()` |
/// | keep a length once it is set | `recordLength(of:)` |
/// | POST with a body: send `Upload-Offset` | `create()` |
/// | send `Upload-Expires` in each response to PATCH, and to POST | `expiration(of:)` |
/// | verify the whole part, support `sha1`, and drop a part that differs | `receive(into:)`, `UploadChecksum` |
/// | DELETE: respond with a 204 | `reply(for:)` |
struct TusRoutes {
    private static let version = "1.0.0"
    private static let mediaType = "application/offset+octet-stream"

    private let exchange: UploadExchange
    private var uploads: ResumableUploads { exchange.uploads }

    init(_ exchange: UploadExchange) { self.exchange = exchange }

    /// The header fields of the response to OPTIONS.
    var options: HTTPHeaders {
        var headers: HTTPHeaders = [
            "Tus-Resumable": Self.version, "Tus-Version": Self.version,
            "Tus-Extension": "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination",
            "Tus-Checksum-Algorithm": AnnouncedChecksum.algorithms,
        ]
        headers["Tus-Max-Size"] = uploads.settings.maximumSize.map { String($0) }
        return headers
    }

    /// Makes a response without a body.
    func reply(_ status: Int, _ headers: HTTPHeaders = [:]) -> Reply {
        .status(status, headers: (["Tus-Resumable": Self.version] as HTTPHeaders).merging(headers))
    }

    /// Serves a request that creates an upload, perhaps with its first bytes.
    func create() throws -> Reply {
        if let rejection = rejectionOfVersion { return rejection }
        guard exchange.method == .post else { return reply(405, ["Allow": "POST, OPTIONS"]) }
        let length = UploadFields.number(exchange.field("Upload-Length"))
        let deferral = exchange.field("Upload-Defer-Length")
        guard (length == nil) == (deferral != nil), deferral ?? "1" == "1" else { return reply(400) }
        guard UploadFields.metadata(exchange.field("Upload-Metadata") ?? "") != nil else { return reply(400) }
        if let length, let maximum = uploads.settings.maximumSize, length > maximum { return reply(413) }
        if exchange.hasContent {
            guard UploadFields.mediaType(exchange.head.headers) == Self.mediaType else { return reply(415) }
            if let content = exchange.contentLength, let length, content > length { return reply(413) }
        }
        guard hasKnownChecksum else { return reply(400) }
        if exchange.isBeyondAppendLimit { return reply(413) }
        let upload = try uploads.makeUpload(.tus, length: length, for: exchange)
        return try exchange.withExclusiveAccess(to: upload) {
            let status = try receive(into: upload)
            // The client does not learn the location of an upload whose first part was rejected.
            guard status == 204 else {
                upload.vanish(410)
                return reply(status)
            }
            var headers: HTTPHeaders = ["Location": upload.path]
            if exchange.hasContent { headers["Upload-Offset"] = String(upload.current.offset) }
            return reply(201, headers.merging(expiration(of: upload)))
        }
    }

    /// Serves a request to an upload. The exchange uses the upload exclusively.
    func reply(for upload: StoredUpload) throws -> Reply {
        if let rejection = rejectionOfVersion { return rejection }
        if let status = upload.goneStatus { return reply(status) }
        switch exchange.method {
        case .head: return head(upload)
        case .patch:
            var reply = try append(to: upload)
            reply.headers?.merge(expiration(of: upload))
            return reply
        case .delete:
            upload.vanish(410)
            try? FileManager.default.removeItem(at: upload.file)
            return reply(204)
        default: return reply(405, ["Allow": "HEAD, PATCH, DELETE, OPTIONS"])
        }
    }

    private var rejectionOfVersion: Reply? {
        if exchange.field("Tus-Resumable") == Self.version { return nil }
        return reply(412, ["Tus-Version": Self.version])
    }

    private func head(_ upload: StoredUpload) -> Reply {
        var headers: HTTPHeaders = ["Upload-Offset": String(exchange.reportedOffset(of: upload)), "Cache-Control": "no-store"]
        if let length = upload.current.length {
            headers["Upload-Length"] = String(length)
        } else {
            headers["Upload-Defer-Length"] = "1"
        }
        headers["Upload-Metadata"] = upload.creationHeaders["Upload-Metadata"]
        return reply(200, headers.merging(expiration(of: upload)))
    }

    private func append(to upload: StoredUpload) throws -> Reply {
        guard UploadFields.mediaType(exchange.head.headers) == Self.mediaType else { return reply(415) }
        guard let offset = UploadFields.number(exchange.field("Upload-Offset")) else { return reply(400) }
        // tus does not require the offset here. It helps a person who reads the log.
        guard offset == upload.current.offset else { return reply(409, ["Upload-Offset": String(upload.current.offset)]) }
        guard hasKnownChecksum else { return reply(400) }
        let known = upload.current.length
        if let status = recordLength(of: upload) { return reply(status) }
        let isTooLong = exchange.contentLength.map { $0 > (upload.current.length ?? .max) - offset } ?? false
        let status = isTooLong || exchange.isBeyondAppendLimit ? 413 : try receive(into: upload)
        // A rejected part leaves the upload unchanged.
        if status == 413 || status == 460 { upload.change { $0.length = known } }
        return status == 204 ? reply(204, ["Upload-Offset": String(upload.current.offset)]) : reply(status)
    }

    /// Records a length that was deferred.
    /// - Returns: The status of a rejection; `nil` if the request has no length, or a valid one.
    private func recordLength(of upload: StoredUpload) -> Int? {
        guard let text = exchange.field("Upload-Length") else { return nil }
        guard let length = UploadFields.number(text) else { return 400 }
        if let maximum = uploads.settings.maximumSize, length > maximum { return 413 }
        return upload.change { state in
            guard state.length ?? length == length, length >= state.offset else { return 400 }
            state.length = length
            return nil
        }
    }

    /// Reads the body, and completes the upload if it has its whole length then.
    /// - Returns: 204 for success, or the status of a rejection.
    private func receive(into upload: StoredUpload) throws -> Int {
        let start = upload.current.offset
        let accepted = exchange.acceptedByteCount()
        // A body in chunks may be longer than its header fields suggest.
        let end = upload.current.length ?? uploads.settings.maximumSize ?? .max
        let limit = min(end - start, uploads.maximumAppendSize ?? .max)
        let checksum = exchange.field("Upload-Checksum").flatMap { AnnouncedChecksum($0) }
        let received = try exchange.receive(into: upload, room: min(limit, accepted ?? .max), checksum: checksum)
        guard received.isVerified else { return 460 }
        let isCutByFault = accepted.map { $0 <= limit } ?? false
        if received.droppedByteCount > 0, !isCutByFault { return 413 }
        upload.change { if $0.length == $0.offset { $0.isComplete = true } }
        return 204
    }

    private var hasKnownChecksum: Bool { exchange.field("Upload-Checksum").map { AnnouncedChecksum($0) != nil } ?? true }

    private func expiration(of upload: StoredUpload) -> HTTPHeaders {
        guard let expiry = upload.expiry, !upload.current.isComplete else { return [:] }
        return ["Upload-Expires": UploadFields.httpDate(expiry)]
    }
}
