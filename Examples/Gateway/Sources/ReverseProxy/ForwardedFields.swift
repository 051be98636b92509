import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import NessHTTP
import NessHTTPTypes

/// The header fields that pass the proxy (RFC 9110, section 7.6).
enum ForwardedFields {
    /// The fields that concern one connection only. Those that a message names in its `Connection` field add to them.
    private static let hopByHop: Set = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "proxy-authenticate",
        "proxy-authorization", "proxy-authentication-info",
    ]

    /// The fields of a request that the transport sets by itself, from the URL and the body.
    private static let setByTransport: Set = ["host", "content-length", "expect"]

    /// The fields of a trailer section that would change the framing or the routing of the message (RFC 9110, 6.5.1).
    private static let notInTrailers: Set = ["content-length", "host", "content-encoding", "content-type", "content-range"]

    private static let via = "1.1 gateway"

    /// Returns the fields for the upstream.
    /// - Throws: `Refusal` for a request that may go no further (RFC 9110, 7.6.2).
    static func toUpstream(_ request: Request, from client: SocketAddress?) throws -> HTTPHeaders {
        var headers = HTTPHeaders(
            request.headers.without(hopByHop.union(setByTransport).union(named(in: request.headers[values: .connection]))))
        if [.options, .trace].contains(request.method), let limit = headers["Max-Forwards"].flatMap({ Int($0) }) {
            guard limit > 0 else { throw Refusal(request.method == .options ? 204 : 405) }
            headers["Max-Forwards"] = "\(limit - 1)"
        }
        headers.add(via, for: "Via")
        // An upstream that trusts this proxy reads the last address only: the client may have sent the others.
        if let address = client?.ipAddress { headers.add(address, for: "X-Forwarded-For") }
        headers["X-Forwarded-Host"] = request.head.authority
        headers["X-Forwarded-Proto"] = request.head.scheme
        return headers
    }

    /// Returns the fields for the client, without `Content-Length`.
    static func toClient(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields.without(hopByHop.union(named(in: fields[values: .connection])).union(["content-length"]))
        fields.append(HTTPField(name: .via, value: via))
        return fields
    }

    /// Returns the length of a final response for the client; `nil` if the response names none, or must not (RFC 9110, 8.6).
    ///
    /// A client that finds two lengths might choose another one than the proxy, and take the rest of the body for the next response.
    /// - Throws: `Refusal` with 502 if the upstream's fields contradict each other, or if one is not a number. Equal ones count as one
    ///   (RFC 9112, 6.3).
    static func length(of headers: HTTPHeaders, status: Int) throws -> Int64? {
        if status == 204 || headers.contains("Transfer-Encoding") { return nil }
        let values = headers.values(for: "Content-Length").flatMap {
            $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        }
        guard let first = values.first else { return nil }
        let length = number(first)
        guard let length, values.allSatisfy({ number($0) == length }) else { throw Refusal(502) }
        return length
    }

    private static func number(_ bytes: Substring.UTF8View) -> Int64? {
        let text = String(bytes)?.trimmingCharacters(in: .whitespaces) ?? ""
        return text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
    }

    /// Returns the trailer fields for the client.
    static func toClient(trailers: HTTPHeaders) -> HTTPFields? {
        let fields = HTTPFields(trailers).without(hopByHop.union(notInTrailers))
        return fields.isEmpty ? nil : fields
    }

    private static func named(in values: [String]) -> [String] {
        values.flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
    }
}

extension HTTPFields {
    fileprivate func without(_ dropped: Set<String>) -> HTTPFields { HTTPFields(lazy.filter { !dropped.contains($0.name.canonicalName) }) }
}
