import Foundation
import NessHTTP

/// The routes take the place of the server's handler, and read the bodies while they arrive.
extension ResumableUploads {
    /// Returns true for the path of creations, and for all paths below it. Runs on the connection's thread.
    func serves(_ head: IncomingRequest) -> Bool {
        let requested = Self.path(of: head)
        return requested.isExactly(path) || requested.startsExactly(with: path.isExactly("/") ? path : path + "/")
    }

    /// Serves a request by the protocol that it uses. Runs on the connection's thread, and may block it.
    /// - Returns: True if the connection stays open after the reply.
    /// - Throws: `ConnectionEnd`.
    func serve(_ head: IncomingRequest, on connection: Connection) throws -> Bool {
        let exchange = UploadExchange(head, on: connection, of: self)
        do {
            return try exchange.finish(reply(to: exchange))
        } catch let end as ConnectionEnd {
            throw end
        } catch {
            // The folder is gone or full. The rest of the body may be unread, so the connection closes.
            throw ConnectionEnd.refused(status: 500, text: "\(error)")
        }
    }

    private func reply(to exchange: UploadExchange) throws -> Reply {
        let answer = takeFault(for: exchange.method) { fault -> Reply? in
            if case .answers(let status, let headers) = fault { .status(status, headers: headers) } else { nil }
        }
        if let answer { return answer }
        let tus = TusRoutes(exchange), draft = DraftRoutes(exchange)
        if exchange.method == .options { return .status(204, headers: tus.options.merging(draft.options)) }
        guard let identifier = identifier(in: exchange.path) else {
            if exchange.isTus { return try tus.create() }
            return try draft.create()
        }
        guard let upload = upload(identifier) else { return exchange.isTus ? tus.reply(404) : .status(404) }
        return try exchange.withExclusiveAccess(to: upload) {
            if takeFault(for: exchange.method, { $0 == .forgets ? true : nil }) != nil { upload.vanish(404) }
            if upload.kind == .tus { return try tus.reply(for: upload) }
            if let status = upload.goneStatus { return .status(status) }
            return try draft.reply(for: upload)
        }
    }
}

extension UploadExchange {
    /// Returns the offset that the response to a HEAD reports.
    func reportedOffset(of upload: StoredUpload) -> Int64 {
        let lie = uploads.takeFault(for: method) { fault -> Int64? in
            if case .liesAboutOffset(let offset) = fault { offset } else { nil }
        }
        return lie ?? upload.current.offset
    }

    /// Returns the number of bytes of the body that a fault lets the server keep; `nil` for all.
    func acceptedByteCount() -> Int64? {
        uploads.takeFault(for: method, appliesToAll: hasContent) { fault -> Int64? in
            if case .acceptsLess(let count) = fault { count } else { nil }
        }
    }

    /// Returns true if the body alone is longer than a single request may be.
    var isBeyondAppendLimit: Bool {
        guard let limit = uploads.maximumAppendSize, let contentLength else { return false }
        return contentLength > limit
    }
}
