import Foundation
import NessHTTP

/// One request to `ResumableUploads`, from its head to its response. Only the connection's thread uses it.
final class UploadExchange {
    /// The result of a body that was read to its end.
    struct Received {
        /// The number of bytes beyond the room, which were dropped.
        var droppedByteCount: Int64
        /// True if the bytes have the announced checksum, or if there is no checksum.
        var isVerified: Bool
    }

    /// Ends the reading of a body, where a fault is due. It never leaves this type.
    private struct FaultDue: Error {}

    /// A fault that ends the exchange without a response.
    private struct Ending {
        var limit: Int64
        var resets: Bool
    }

    let head: IncomingRequest
    let uploads: ResumableUploads
    /// The path of the request, without the query.
    let path: String
    /// The method, or the one that replaces it (tus, `X-HTTP-Method-Override`).
    let method: HTTPMethod
    private let connection: Connection
    private let entry: Int
    private var ending: Ending?
    private var trailers = HTTPHeaders()
    private var hasReadContent = false
    private var bodyByteCount: Int64 = 0

    init(_ head: IncomingRequest, on connection: Connection, of uploads: ResumableUploads) {
        self.head = head
        self.connection = connection
        self.uploads = uploads
        path = ResumableUploads.path(of: head)
        let override = head.headers.contains("Tus-Resumable") ? head.headers["X-HTTP-Method-Override"] : nil
        method = override.map { HTTPMethod(rawValue: $0) } ?? head.method
        entry = uploads.log(
            ResumableUploads.Request(
                method: method, path: path, uploadIdentifier: uploads.identifier(in: path), headers: head.headers,
                offset: UploadFields.number(head.headers["Upload-Offset"])))
    }

    /// True if the client speaks tus.
    var isTus: Bool { head.headers.contains("Tus-Resumable") }
    /// The length of the body; `nil` if it has chunks.
    var contentLength: Int64? { if case .length(let count) = head.framing { Int64(count) } else { nil } }
    /// True if the request may have a body.
    var hasContent: Bool { contentLength != 0 }

    /// Returns the value of a header field.
    func field(_ name: String) -> String? { head.headers[name] }

    /// Connects a new upload with the request that creates it.
    func noteCreation(of upload: StoredUpload) { uploads.changeEntry(entry) { $0.uploadIdentifier = upload.identifier } }

    /// Runs a closure while no other request uses the upload. Another request that reads its body meanwhile loses its connection.
    func withExclusiveAccess<Result>(to upload: StoredUpload, _ body: () throws -> Result) throws -> Result {
        let user = UploadUser(), pipe = try WakePipe()
        while let other = upload.register(user) {
            other.superseded.open()
            try connection.wait(for: other.ended, onEndOfStream: {})
        }
        user.superseded.addWakeUp(pipe)
        connection.socket.interruption = pipe
        defer {
            connection.socket.interruption = nil
            user.superseded.removeWakeUp(pipe)
            pipe.close()
            upload.release(user)
        }
        do { return try body() } catch {
            guard user.superseded.isOpen else { throw error }
            // The upload is free for other requests only after the connection has ended.
            connection.socket.close(resetting: true)
            throw ConnectionEnd.finished
        }
    }

    /// Sends a 104.
    func sendInterim(_ headers: HTTPHeaders) throws {
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        try connection.send(Data("HTTP/1.1 104 Upload Resumption Supported\r\n\(fields)\r\n".utf8))
    }

    /// Reads the body, and appends it to the upload's file piece by piece. If the connection ends early, the received bytes count.
    /// - Parameters:
    ///   - upload: The upload, which this exchange uses exclusively.
    ///   - room: The number of bytes to keep. The rest of the body is read and dropped.
    ///   - checksum: The checksum of the body; `nil` for none. With a checksum, no byte counts before the whole body has been verified.
    ///   - progress: Called after each piece, with the new offset.
    /// - Throws: `ConnectionEnd`, or the error of a file.
    func receive(
        into upload: StoredUpload, room: Int64, checksum: AnnouncedChecksum? = nil, progress: (Int64) throws -> Void = { _ in }
    ) throws -> Received {
        hasReadContent = true
        let start = upload.current.offset
        let room = max(0, room)
        var kept: Int64 = 0
        ending = takeEnding()
        let file = try OpenFile(upload.file.path, O_RDWR | O_CREAT)
        var checksum = checksum
        do {
            if isEndingDue { throw FaultDue() }
            try connection.sendContinue(to: head)
            trailers = try BodyReader.read(head.framing, from: connection.reader) { bytes in
                // With a fault, exactly the bytes up to its limit count.
                let piece = bytes.prefix(Int(min(Int64(bytes.count), (ending?.limit ?? .max) - bodyByteCount)))
                let fitting = UnsafeRawBufferPointer(rebasing: piece.prefix(Int(min(Int64(piece.count), room - kept))))
                try file.write(Data(fitting), at: start + kept)
                checksum?.add(Data(piece))
                kept += Int64(fitting.count)
                count(piece.count)
                if checksum == nil { upload.change { $0.offset = start + kept } }
                try progress(start + kept)
                if isEndingDue { throw FaultDue() }
            }
        } catch {
            // A part that cannot be verified must not change the upload (tus, Checksum).
            if checksum != nil { try? file.truncate(to: start) }
            if error is FaultDue { try end() }
            throw error
        }
        let dropped = bodyByteCount - kept
        if var checksum {
            guard checksum.matches() else {
                try file.truncate(to: start)
                return Received(droppedByteCount: dropped, isVerified: false)
            }
            upload.change { $0.offset = start + kept }
        }
        return Received(droppedByteCount: dropped, isVerified: true)
    }

    /// Reads the body and drops it.
    /// - Returns: The number of its bytes.
    func discardContent() throws -> Int64 {
        hasReadContent = true
        try connection.sendContinue(to: head)
        trailers = try BodyReader.read(head.framing, from: connection.reader) { count($0.count) }
        return bodyByteCount
    }

    /// Sends the final response. A body that was not read is dropped first, so that the connection can serve another request.
    /// - Returns: True if the connection stays open.
    func finish(_ reply: Reply) throws -> Bool {
        var reply = reply
        if !hasReadContent {
            if head.expectsContinue, connection.reader.backlog == 0 {
                // The client may or may not send the body now, so the next bytes may not be a request.
                reply = reply.adding("close", for: "Connection")
            } else {
                _ = try discardContent()
            }
        }
        connection.record(head, body: nil, trailers: trailers)
        if ending != nil { try end() }
        if reply.headers?["Upload-Offset"] != nil, uploads.takeFault(for: method, { $0 == .omitsOffset ? true : nil }) != nil {
            reply.headers?["Upload-Offset"] = nil
        }
        let status = reply.statusCode
        uploads.changeEntry(entry) { $0.status = status }
        return try connection.respond(reply)
    }

    private func takeEnding() -> Ending? {
        uploads.takeFault(for: method, appliesToAll: hasContent) { fault -> Ending? in
            switch fault {
            case .stalls(let limit): Ending(limit: max(0, limit), resets: false)
            case .resets(let limit): Ending(limit: max(0, limit), resets: true)
            default: nil
            }
        }
    }

    /// True if the bytes up to the fault's limit have arrived, and the body has more. A fault after the last byte waits for the response.
    private var isEndingDue: Bool {
        guard let ending, bodyByteCount >= ending.limit else { return false }
        return contentLength.map { bodyByteCount < $0 } ?? true
    }

    /// Ends the connection without a response: immediately, or when the client or another request ends it.
    private func end() throws -> Never {
        if ending?.resets == false { connection.reader.discardUntilClosed() }
        connection.socket.close(resetting: true)
        throw ConnectionEnd.finished
    }

    private func count(_ bytes: Int) {
        bodyByteCount += Int64(bytes)
        let total = bodyByteCount
        uploads.changeEntry(entry) { $0.receivedByteCount = total }
    }
}

extension Reply {
    /// The status code; `nil` for a script and a failure.
    fileprivate var statusCode: Int? {
        switch content {
        case .full(let status, _, _), .chunked(let status, _, _, _): status
        case .script, .failure: nil
        }
    }
}
