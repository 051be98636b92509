import Foundation
import NessHTTP

extension Reply {
    /// A file from a server that supports ranges (RFC 9110, 14), for tests of downloads that resume.
    ///
    /// ```swift
    /// let server = try await TestServer.start { request in
    ///     let reply = Reply.file(Data(repeating: 7, count: 200_000), for: request)
    ///     return request.number == 1 ? reply.cut(after: 100_000) : reply
    /// }
    /// ```
    /// A request for one range gets a 206, or a 416 if the range starts behind the end. Any other request gets the whole file, and so does
    /// one whose `If-Range` names another version.
    /// - Parameters:
    ///   - content: The content of the file.
    ///   - entityTag: The version of the file, with its quotes; `nil` for a server that names no version.
    ///   - headers: Further header fields.
    ///   - request: The request.
    public static func file(
        _ content: Data, entityTag: String? = "\"v1\"", headers: HTTPHeaders = [:], for request: ReceivedRequest
    ) -> Reply {
        var headers = headers
        if let entityTag { headers["ETag"] = entityTag }
        headers["Accept-Ranges"] = "bytes"
        let condition = request.headers["If-Range"]
        guard condition == nil || condition == entityTag || condition == headers["Last-Modified"],
            let range = request.headers["Range"], let match = range.wholeMatch(of: /bytes=([0-9]+)-([0-9]*)/)
        else { return .data(content, headers: headers) }
        guard let start = Int(match.1), start < content.count else {
            headers["Content-Range"] = "bytes */\(content.count)"
            return .status(416, headers: headers)
        }
        let end = max(start, min(Int(match.2) ?? .max, content.count - 1))
        headers["Content-Range"] = "bytes \(start)-\(end)/\(content.count)"
        return .data(content.dropFirst(start).prefix(end - start + 1), status: 206, headers: headers)
    }

    /// Returns the reply with its whole length announced, but only the start of its body. For a `TestServer` only.
    ///
    /// Chunks, a script and a failure are returned unchanged.
    /// - Parameters:
    ///   - count: The number of body bytes to send.
    ///   - last: The step after these bytes, such as `.stall`.
    public func cut(after count: Int, then last: ConnectionStep = .close) -> Reply {
        guard case .full(let status, let headers, let body) = content else { return self }
        var head = "HTTP/1.1 \(status) Cut\r\nContent-Length: \(body.count)\r\n"
        for field in headers { head += "\(field.name): \(field.value)\r\n" }
        var cut = Reply.script([.send(head + "\r\n"), .sendData(body.prefix(max(0, count))), last])
        cut.delay = delay
        return cut
    }
}
