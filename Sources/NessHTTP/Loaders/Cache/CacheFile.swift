import Foundation

/// The file format of a stored response: a mark, the digest of the rest, the length of the head, the head as JSON, the body.
enum CacheFile {
    private struct Head: Codable {
        var name: [String]
        var status: Int
        var headers: [[String]]
        /// Seconds since 1970.
        var received: Double
        var initialAge: Double
    }

    private static let mark = Data("NessCache1\n".utf8)
    private static let digestLength = 32
    private static let lengthLength = 4

    /// Encodes a response as a file. `nil` if the head cannot be encoded.
    static func encode(_ response: CachedResponse, _ name: CacheFileName) -> Data? {
        let head = Head(
            name: [name.key.url, name.key.credential, name.variant], status: response.statusCode,
            headers: response.headers.map { [$0.name, $0.value] }, received: response.received.timeIntervalSince1970,
            initialAge: response.initialAge)
        guard let head = try? JSONEncoder().encode(head), let length = UInt32(exactly: head.count) else { return nil }
        var content = Data((0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) })
        content += head
        content += response.body
        return mark + SHA256Hash.digest(of: content) + content
    }

    /// Decodes the response in a file. `nil` if the file is incomplete, was changed, or belongs to another name.
    static func decode(_ data: Data, _ name: CacheFileName) -> CachedResponse? {
        let start = mark.count + digestLength
        guard data.count >= start + lengthLength, data.starts(with: mark) else { return nil }
        let content = data.dropFirst(start)
        guard SHA256Hash.digest(of: content) == data.dropFirst(mark.count).prefix(digestLength) else { return nil }
        let length = content.prefix(lengthLength).reduce(0) { $0 << 8 | Int($1) }
        let rest = content.dropFirst(lengthLength)
        guard length <= rest.count, let head = try? JSONDecoder().decode(Head.self, from: Data(rest.prefix(length))) else { return nil }
        guard head.name == [name.key.url, name.key.credential, name.variant], head.initialAge >= 0 else { return nil }
        var headers = HTTPHeaders()
        for field in head.headers {
            guard field.count == 2 else { return nil }
            headers.add(field[1], for: field[0])
        }
        return CachedResponse(
            statusCode: head.status, headers: headers, body: Data(rest.dropFirst(length)),
            received: Date(timeIntervalSince1970: head.received), initialAge: head.initialAge, variant: name.variant)
    }
}
