import Foundation

/// Encodes and decodes the record of the stored responses with one key, for a `CacheStorage`. A record consists of the bodies, the head,
/// the head's length and checksum, and a mark. The head is a list of fields, each after its length. It contains the key and the checksums
/// of the bodies.
///
/// The bodies come first, so that a single body can be used without a copy. A truncated record has no mark.
enum CacheRecord {
    /// Reads bytes of a known length, and fields after their length.
    private struct Reader {
        // An array, because slices of data take several times as long.
        var rest: ArraySlice<UInt8>

        mutating func next(_ count: Int) -> ArraySlice<UInt8>? {
            guard count >= 0, count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func length() -> Int? { next(CacheRecord.lengthLength).map { $0.reduce(0) { $0 << 8 | Int($1) } } }
        mutating func field() -> ArraySlice<UInt8>? { length().flatMap { next($0) } }
        mutating func text() -> String? { field().map { String(decoding: $0, as: UTF8.self) } }
        mutating func number<Number: LosslessStringConvertible>() -> Number? { text().flatMap { Number($0) } }
    }

    /// The end of each record. Another version of the format has another mark.
    private static let mark = Data("NessCache5\n".utf8)
    private static let checksumLength = 8
    private static let lengthLength = 4

    /// Computes the checksum of some bytes, which finds a record that is incomplete or damaged. It does not protect against a person who
    /// can write the record. SHA-256 would take most of the time of a revalidated response.
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

    /// Encodes responses as a record.
    static func encode(_ responses: [CachedResponse], _ key: CacheStorageKey) -> Data {
        var head: [UInt8] = []
        add(key.rawValue.utf8, to: &head)
        for response in responses {
            // Cookies are secrets, and are set when they arrive, not when a response is used again.
            var headers = response.headers
            headers.remove(HeaderName.setCookie)
            // `Date` itself stores the time since the reference date. Any other time would be rounded, perhaps into the future, and a
            // response from the future is not used.
            for text in [
                response.variant, "\(response.statusCode)", "\(response.received.timeIntervalSinceReferenceDate)", "\(response.initialAge)",
                "\(response.body.count)", "\(headers.count)",
            ] { add(text.utf8, to: &head) }
            for field in headers {
                add(field.name.utf8, to: &head)
                add(field.value.utf8, to: &head)
            }
            add(response.checksum ?? checksum(of: response.body), to: &head)
        }
        var record = Data(capacity: responses.reduce(head.count + lengthLength + checksumLength + mark.count) { $0 + $1.body.count })
        for response in responses { record.append(response.body) }
        record.append(contentsOf: head)
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: head.count).bigEndian) { record.append(contentsOf: $0) }
        record.append(checksum(of: head))
        record.append(mark)
        return record
    }

    private static func add(_ field: some Collection<UInt8>, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: field.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: field)
    }

    /// Decodes the responses of a record, newest first. Empty if the record is incomplete, was changed, or belongs to another key.
    static func decode(_ record: Data, _ key: CacheStorageKey) -> [CachedResponse] {
        // The body of a response has to start at index 0. A slice of other data is copied, so that it does.
        guard record.startIndex == 0 else { return decode(record.subdata(in: record.startIndex..<record.endIndex), key) }
        let trailer = lengthLength + checksumLength + mark.count
        guard record.count >= trailer else { return [] }
        var end = Reader(rest: Array(record.suffix(trailer))[...])
        guard let length = end.length(), let sum = end.next(checksumLength), mark.elementsEqual(end.rest), length <= record.count - trailer
        else { return [] }
        let start = record.count - trailer - length, head = Array(record[start..<start + length])
        guard checksum(of: head).elementsEqual(sum) else { return [] }
        var reader = Reader(rest: head[...]), bodies = 0, responses: [CachedResponse] = []
        guard reader.text()?.isExactly(key.rawValue) == true else { return [] }
        while !reader.rest.isEmpty {
            guard let response = response(&reader, in: record, from: &bodies, to: start) else { return [] }
            responses.append(response)
        }
        return bodies == start ? responses : []
    }

    private static func response(_ head: inout Reader, in record: Data, from start: inout Int, to end: Int) -> CachedResponse? {
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
        guard let sum = head.field(), (0...end - start).contains(length) else { return nil }
        let place = start..<start + length
        start = place.upperBound
        // A single body is not copied. One of several is copied, because a slice would keep the others in memory.
        let body = place == 0..<end ? record[place] : record.subdata(in: place)
        guard checksum(of: body).elementsEqual(sum) else { return nil }
        return CachedResponse(
            statusCode: status, headers: headers, body: body, received: Date(timeIntervalSinceReferenceDate: received),
            initialAge: initialAge,
            variant: variant, checksum: Data(sum))
    }
}
