import Foundation

/// The file format of the stored responses with one key: a mark, the checksum of the head, the head, the bodies. The head is a list of
/// fields, each after its length. It has the checksums of the bodies.
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

    /// The start of each file.
    static let mark = Data("NessCache4\n".utf8)
    private static let checksumLength = 8
    private static let lengthLength = 4

    /// Computes the checksum of some bytes, which finds a file that is incomplete or damaged. It does not protect against a person who can
    /// write the file. SHA-256 took most of the time that a revalidated response took.
    static func checksum(of bytes: some Collection<UInt8>) -> Data {
        let sum = bytes.withContiguousStorageIfAvailable { bytes in
            let bytes = UnsafeRawBufferPointer(bytes), end = bytes.count & ~7
            var sum = UInt64(bytes.count)
            func add(_ word: UInt64) {
                // The constant is odd, so no difference between two words is lost. The shift lets high bits reach the low ones.
                sum = (sum ^ UInt64(littleEndian: word)) &* 0x9e37_79b9_7f4a_7c15
                sum ^= sum >> 29
            }
            for offset in stride(from: 0, to: end, by: 8) { add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
            for byte in bytes[end...] { add(UInt64(byte)) }
            return sum
        }
        guard let sum else { return checksum(of: Array(bytes)) }
        return withUnsafeBytes(of: sum.bigEndian) { Data($0) }
    }

    /// Encodes responses as a file.
    static func encode(_ responses: [CachedResponse], _ key: CacheKey) -> Data {
        var head: [UInt8] = []
        for text in [key.url, key.user, key.credential] { add(text.text.utf8, to: &head) }
        for response in responses {
            for text in [
                response.variant, "\(response.statusCode)", "\(response.received.timeIntervalSince1970)", "\(response.initialAge)",
                "\(response.body.count)", "\(response.headers.count)",
            ] { add(text.utf8, to: &head) }
            for field in response.headers {
                add(field.name.utf8, to: &head)
                add(field.value.utf8, to: &head)
            }
            add(response.checksum ?? checksum(of: response.body), to: &head)
        }
        var file = Array(mark) + checksum(of: head)
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
        guard let start = file.next(mark.count), mark.elementsEqual(start), let sum = file.next(checksumLength), let head = file.field(),
            checksum(of: head).elementsEqual(sum)
        else { return [] }
        var reader = Reader(rest: head), responses: [CachedResponse] = []
        for text in [key.url, key.user, key.credential] {
            guard let found = reader.text(), ExactText(found) == text else { return [] }
        }
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
        // Another program may have written any number, or none. A day is less than 1e5 seconds, and a century less than 1e10.
        guard (-1e11...1e11).contains(received), (0...1e11).contains(initialAge) else { return nil }
        var headers = HTTPHeaders()
        for _ in 0..<max(0, count) {
            guard let name = head.text(), let value = head.text() else { return nil }
            headers.add(value, for: name)
        }
        guard let sum = head.field(), let body = file.next(length), checksum(of: body).elementsEqual(sum) else { return nil }
        return CachedResponse(
            statusCode: status, headers: headers, body: Data(body), received: Date(timeIntervalSince1970: received), initialAge: initialAge,
            variant: variant, checksum: Data(sum))
    }
}
