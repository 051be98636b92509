import Foundation

/// The file format of the stored responses with one key: a mark, the digest of the head, the head, the bodies. The head is a list of fields,
/// each after its length. It has the digests of the bodies.
enum CacheFile {
    /// Reads bytes of a known length, and fields after their length.
    private struct Reader {
        // An array, because slices of data take several times as long.
        var rest: ArraySlice<UInt8>

        mutating func next(_ count: Int) -> ArraySlice<UInt8>? {
            guard count >= 0, count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func field() -> ArraySlice<UInt8>? { next(CacheFile.lengthLength).flatMap { next($0.reduce(0) { $0 << 8 | Int($1) }) } }
        mutating func text() -> String? { field().map { String(decoding: $0, as: UTF8.self) } }
        mutating func number<Number: LosslessStringConvertible>() -> Number? { text().flatMap { Number($0) } }
    }

    private static let mark = Array("NessCache2\n".utf8)
    private static let digestLength = 32
    private static let lengthLength = 4

    /// Encodes responses as a file.
    static func encode(_ responses: [CachedResponse], _ key: CacheKey) -> Data {
        var head: [UInt8] = []
        add(key.url.utf8, to: &head)
        add(key.credential.utf8, to: &head)
        for response in responses {
            for text in [
                response.variant, "\(response.statusCode)", "\(response.received.timeIntervalSince1970)", "\(response.initialAge)",
                "\(response.body.count)", "\(response.headers.count)",
            ] { add(text.utf8, to: &head) }
            for field in response.headers {
                add(field.name.utf8, to: &head)
                add(field.value.utf8, to: &head)
            }
            add(response.digest ?? SHA256Hash.digest(of: response.body), to: &head)
        }
        var file = mark + SHA256Hash.digest(of: head)
        add(head, to: &file)
        for response in responses { file += response.body }
        return Data(file)
    }

    private static func add(_ field: some Collection<UInt8>, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: field.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: field)
    }

    /// Decodes the responses in a file, newest first. Empty if the file is incomplete, was changed, or belongs to another key.
    static func decode(_ data: Data, _ key: CacheKey) -> [CachedResponse] {
        var file = Reader(rest: Array(data)[...])
        guard file.next(mark.count) == mark[...], let digest = file.next(digestLength), let head = file.field(),
            SHA256Hash.digest(of: head).elementsEqual(digest)
        else { return [] }
        var reader = Reader(rest: head), responses: [CachedResponse] = []
        guard reader.text() == key.url, reader.text() == key.credential else { return [] }
        while !reader.rest.isEmpty {
            guard let response = response(&reader, body: &file) else { return [] }
            responses.append(response)
        }
        return file.rest.isEmpty ? responses : []
    }

    private static func response(_ head: inout Reader, body file: inout Reader) -> CachedResponse? {
        guard let variant = head.text(), let status: Int = head.number(), let received: Double = head.number(),
            let initialAge: Double = head.number(), let length: Int = head.number(), let count: Int = head.number()
        else { return nil }
        var headers = HTTPHeaders()
        for _ in 0..<max(0, count) {
            guard let name = head.text(), let value = head.text() else { return nil }
            headers.add(value, for: name)
        }
        guard let digest = head.field(), let body = file.next(length), SHA256Hash.digest(of: body).elementsEqual(digest) else { return nil }
        return CachedResponse(
            statusCode: status, headers: headers, body: Data(body), received: Date(timeIntervalSince1970: received), initialAge: initialAge,
            variant: variant, digest: Data(digest))
    }
}
