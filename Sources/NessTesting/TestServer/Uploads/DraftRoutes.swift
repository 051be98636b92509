import Foundation
import NessHTTP

/// The responses of "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload, interop version 8), and of conventional uploads.
///
/// | the server must | kept in |
/// |---|---|
/// | ignore `Upload-Offset`, `Upload-Length` or `Upload-Complete` with a value of another type (State) | `UploadFields` |
/// | never decrease the offset, and deactivate an upload whose state is lost (Offset) | `StoredUpload`, `UploadFault.forgets` |
/// | keep the length that the first request announced (Length) | `recordLength(_:completes:of:)` |
/// | OPTIONS: send `Upload-Limit`, with `min-size=0` for no limit (Limits) | `options` |
/// | creation: send a 104 with `Location` and `Upload-Limit`, if any (Upload Creation) | `announce(_:)` |
/// | creation, incomplete: send the same `Location`, and `Upload-Limit` | `acknowledgment(of:isCreation:)` |
/// | interrupted: keep the bytes, and not complete the upload | `UploadExchange.receive`, `append(to:completes:isCreation:)` |
/// | HEAD: send the offset, completeness, length and limits (Offset Retrieval) | `state(of:)` |
/// | PATCH: reject another offset with a 409, `Upload-Complete: ?0` and the offset (Upload Append) | `continueUpload(_:)` |
/// | PATCH, complete: send the final response with `Upload-Complete: ?1` | `complete(_:isCreation:)` |
/// | PATCH, incomplete: send a 2xx with `Upload-Complete: ?0` | `acknowledgment(of:isCreation:)` |
/// | PATCH: never let the offset exceed the length; the upload becomes invalid | `append(to:completes:isCreation:)` |
/// | PATCH: send no `Location` in a 104 | `reportProgress(_:)` |
/// | one transfer for each upload; an offset that was sent is still valid (Concurrency) | `UploadExchange.withExclusiveAccess` |
/// | send the 100 even after a 104 (Status Code 104) | `UploadExchange.receive` |
/// | send no 104 to a client of another version, and name the version in each 104 (Draft Version) | `mayAnnounce` |
struct DraftRoutes {
    private static let mediaType = "application/partial-upload"
    private static let version = String(ResumableUploads.interopVersion)

    private let exchange: UploadExchange
    private var uploads: ResumableUploads { exchange.uploads }

    init(_ exchange: UploadExchange) { self.exchange = exchange }

    /// The header fields of the response to OPTIONS.
    var options: HTTPHeaders { ["Upload-Limit": limits(of: nil), "Allow": "POST, PUT, OPTIONS"] }

    /// Serves a request that creates an upload, with all of its bytes, some or none.
    func create() throws -> Reply {
        guard exchange.method == .post || exchange.method == .put else { return .status(405, headers: ["Allow": "POST, PUT, OPTIONS"]) }
        guard let completes = UploadFields.boolean(exchange.field("Upload-Complete")) else { return try receiveConventionalUpload() }
        let declared = UploadFields.integer(exchange.field("Upload-Length"))
        let whole = completes ? exchange.contentLength : nil
        if let declared, let whole, declared != whole { return inconsistentLength }
        let length = declared ?? whole
        if let length, let maximum = uploads.settings.maximumSize, length > maximum { return tooLarge(nil) }
        if exchange.isBeyondAppendLimit { return tooLarge(nil) }
        let upload = try uploads.makeUpload(.draft, length: length, for: exchange)
        return try exchange.withExclusiveAccess(to: upload) {
            try announce(upload)
            return try append(to: upload, completes: completes, isCreation: true)
        }
    }

    /// Serves a request to an upload. The exchange uses the upload exclusively.
    func reply(for upload: StoredUpload) throws -> Reply {
        switch exchange.method {
        case .head, .get: return state(of: upload)
        case .patch: return try continueUpload(upload)
        case .delete:
            upload.vanish(410)
            try? FileManager.default.removeItem(at: upload.file)
            return .status(204)
        default: return .status(405, headers: ["Allow": "GET, HEAD, PATCH, DELETE, OPTIONS"])
        }
    }

    private func receiveConventionalUpload() throws -> Reply {
        // A tus client that forgets its version must not succeed by accident.
        let isTus = exchange.field("Upload-Length") != nil || exchange.field("Upload-Defer-Length") != nil
        if isTus, exchange.field("Upload-Draft-Interop-Version") == nil {
            return .status(412, headers: ["Tus-Version": "1.0.0"])
        }
        if let content = exchange.contentLength, content > uploads.settings.maximumSize ?? .max { return .status(413) }
        let upload = try uploads.makeUpload(.plain, length: exchange.contentLength, for: exchange)
        return try exchange.withExclusiveAccess(to: upload) {
            let received = try exchange.receive(into: upload, room: uploads.settings.maximumSize ?? .max)
            guard received.droppedByteCount == 0 else { return .status(413) }
            return finalReply(for: upload)
        }
    }

    private func state(of upload: StoredUpload) -> Reply {
        let state = upload.current
        var headers: HTTPHeaders = [
            "Upload-Offset": String(exchange.reportedOffset(of: upload)), "Upload-Complete": state.isComplete ? "?1" : "?0",
            "Upload-Limit": limits(of: upload), "Cache-Control": "no-store",
        ]
        headers["Upload-Length"] = state.length.map { String($0) }
        return .status(204, headers: headers)
    }

    private func continueUpload(_ upload: StoredUpload) throws -> Reply {
        guard upload.kind == .draft else { return .status(405) }
        guard UploadFields.mediaType(exchange.head.headers) == Self.mediaType else {
            return .status(415, headers: ["Accept-Patch": Self.mediaType, "Upload-Complete": "?0"])
        }
        guard let offset = UploadFields.integer(exchange.field("Upload-Offset")),
            let completes = UploadFields.boolean(exchange.field("Upload-Complete"))
        else { return .text("Upload-Offset or Upload-Complete is missing", status: 400, headers: ["Upload-Complete": "?0"]) }
        let state = upload.current
        guard offset == state.offset else {
            return problem(
                409, "mismatching-upload-offset", "offset from request does not match offset of resource",
                ["expected-offset": .integer(state.offset), "provided-offset": .integer(offset)],
                headers: ["Upload-Offset": String(state.offset)])
        }
        if let reply = state.finalReply {
            // The first response was lost. An append of nothing that completes the upload is valid, so the response is repeated.
            if completes, exchange.contentLength ?? 0 == 0, try exchange.discardContent() == 0 { return decorated(reply, for: upload) }
            return problem(400, "completed-upload", "upload is already completed", headers: ["Upload-Offset": String(state.offset)])
        }
        if exchange.isBeyondAppendLimit { return tooLarge(upload) }
        if let rejection = recordLength(offset, completes: completes, of: upload) { return rejection }
        return try append(to: upload, completes: completes, isCreation: false)
    }

    /// Records the length that a request announces by `Upload-Length`, or by completing the upload with a body of known length.
    /// - Returns: A rejection; `nil` if the lengths agree.
    private func recordLength(_ offset: Int64, completes: Bool, of upload: StoredUpload) -> Reply? {
        let declared = UploadFields.integer(exchange.field("Upload-Length"))
        let whole = completes ? exchange.contentLength.map { offset + $0 } : nil
        let known = [upload.current.length, declared, whole].compactMap { $0 }
        guard let length = known.first else { return nil }
        guard known.allSatisfy({ $0 == length }), length >= offset else { return inconsistentLength }
        if let maximum = uploads.settings.maximumSize, length > maximum { return tooLarge(upload) }
        upload.change { $0.length = length }
        return nil
    }

    /// Reads the body, and makes the response.
    private func append(to upload: StoredUpload, completes: Bool, isCreation: Bool) throws -> Reply {
        let start = upload.current.offset
        let accepted = exchange.acceptedByteCount() ?? .max
        let toLength = (upload.current.length ?? .max) - start
        let toMaximum = (uploads.settings.maximumSize ?? .max) - start
        let limit = uploads.maximumAppendSize ?? .max
        let room = min(accepted, toLength, toMaximum, limit)
        var reported = start
        let received = try exchange.receive(into: upload, room: room) { offset in
            if let interval = uploads.settings.progressInterval, offset - reported >= max(1, interval), mayAnnounce {
                reported = offset
                try reportProgress(offset)
            }
        }
        if received.droppedByteCount > 0 {
            if accepted == room { return acknowledgment(of: upload, isCreation: isCreation) }
            if limit == room { return tooLarge(upload) }
            upload.vanish(410)
            return toLength == room ? inconsistentLength : tooLarge(upload)
        }
        guard completes else { return acknowledgment(of: upload, isCreation: isCreation) }
        let state = upload.current
        // A body in chunks may be shorter than the announced length.
        guard state.length ?? state.offset == state.offset else { return inconsistentLength }
        return complete(upload, isCreation: isCreation)
    }

    private func complete(_ upload: StoredUpload, isCreation: Bool) -> Reply {
        var reply = decorated(finalReply(for: upload), for: upload)
        if isCreation, reply.headers?.contains("Location") == false { reply.headers?["Location"] = upload.path }
        return reply
    }

    /// Completes an upload.
    /// - Returns: The response of the resource that the upload is for.
    private func finalReply(for upload: StoredUpload) -> Reply {
        upload.change { state in
            state.length = state.offset
            state.isComplete = true
        }
        let reply = uploads.settings.completion(upload.description(requests: uploads.requests(of: upload)))
        upload.change { $0.finalReply = reply }
        return reply
    }

    /// Returns a final response with the fields that tell it from responses about the upload.
    private func decorated(_ reply: Reply, for upload: StoredUpload) -> Reply {
        var reply = reply
        reply.headers?.merge(["Upload-Complete": "?1", "Upload-Offset": String(upload.current.offset), "Upload-Limit": limits(of: upload)])
        return reply
    }

    /// Returns the response for bytes that do not complete the upload.
    private func acknowledgment(of upload: StoredUpload, isCreation: Bool) -> Reply {
        var headers: HTTPHeaders = [
            "Upload-Complete": "?0", "Upload-Offset": String(upload.current.offset), "Upload-Limit": limits(of: upload),
        ]
        if isCreation { headers["Location"] = upload.path }
        return .status(isCreation ? 201 : 204, headers: headers)
    }

    /// Sends the 104 with the location of an upload, before its bytes are read.
    private func announce(_ upload: StoredUpload) throws {
        guard mayAnnounce else { return }
        let isTwice = uploads.takeFault(for: exchange.method) { $0 == .announcesTwice ? true : nil } ?? false
        for _ in 0..<(isTwice ? 2 : 1) {
            try exchange.sendInterim([
                "Location": upload.path, "Upload-Limit": limits(of: upload), "Upload-Draft-Interop-Version": Self.version,
            ])
        }
    }

    private func reportProgress(_ offset: Int64) throws {
        try exchange.sendInterim(["Upload-Offset": String(offset), "Upload-Draft-Interop-Version": Self.version])
    }

    /// True if the client implements the same version of the draft, and knows interim responses.
    private var mayAnnounce: Bool {
        let version = UploadFields.integer(exchange.field("Upload-Draft-Interop-Version"))
        return version == Int64(ResumableUploads.interopVersion) && !exchange.head.isHTTP10 && !uploads.hasNoInterim
    }

    /// Returns the value of `Upload-Limit`.
    /// - Parameter upload: The upload; `nil` for the limits of all uploads.
    private func limits(of upload: StoredUpload?) -> String {
        var members: [String] = []
        if let size = uploads.settings.maximumSize { members.append("max-size=\(size)") }
        if let size = uploads.maximumAppendSize { members.append("max-append-size=\(size)") }
        if let expiry = upload?.expiry { members.append("max-age=\(max(0, Int64(expiry.timeIntervalSinceNow)))") }
        return members.isEmpty ? "min-size=0" : members.joined(separator: ", ")
    }

    private func tooLarge(_ upload: StoredUpload?) -> Reply {
        .status(413, headers: ["Upload-Limit": limits(of: upload), "Upload-Complete": "?0"])
    }

    private var inconsistentLength: Reply { problem(400, "inconsistent-upload-length", "inconsistent length values for upload") }

    /// Makes a response with a problem (RFC 9457).
    private func problem(
        _ status: Int, _ type: String, _ title: String, _ members: [String: JSONValue] = [:], headers: HTTPHeaders = [:]
    ) -> Reply {
        let fields: HTTPHeaders = ["Content-Type": "application/problem+json", "Upload-Complete": "?0"]
        let common: [String: JSONValue] = [
            "type": .string("https://iana.org/assignments/http-problem-types#\(type)"), "title": .string(title),
        ]
        return .json(JSONValue.object(members.merging(common) { $1 }), status: status, headers: fields.merging(headers))
    }
}
