import Foundation

/// What is known of a file that is not whole yet: kept beside it, so that another run can go on.
///
/// It says no more than what is on the disk for certain: whatever lies beyond may be torn.
struct PartialRecord: Codable, Sendable {
    /// A part of the file that is fetched from its start to its end.
    struct Span: Codable, Sendable, Hashable {
        let start: Int64
        /// One past the last byte; nil while the length of the whole is not known.
        var end: Int64?
        /// How many bytes from the start have come. In a record that was read: how many are on the disk.
        var count: Int64 = 0

        var next: Int64 { start + count }
        var isWhole: Bool { next == end }
    }

    static let currentVersion = 1

    var version = currentVersion
    /// Where it comes from, as a hash: a URL may hold a secret.
    var source: String
    /// What If-Range compares (RFC 9110, 13.1.5): a strong entity tag or date; nil where the server gives none, and nothing can be resumed.
    var validator: String?
    /// The length of the whole, if it is known.
    var total: Int64?
    var spans: [Span]

    init(source: String) {
        self.source = source
        spans = [Span(start: 0, end: nil)]
    }

    /// How many bytes there are.
    var count: Int64 { spans.reduce(0) { $0 + $1.count } }

    /// Whether the record makes sense, whoever wrote it.
    func isValid(forFileOf length: Int64) -> Bool {
        guard version == Self.currentVersion, validator != nil, !spans.isEmpty, spans.count <= 1_000 else { return false }
        var previousEnd: Int64 = 0
        for (index, span) in spans.enumerated() {
            guard span.start == previousEnd, span.count >= 0, span.next >= span.start, span.next <= length || span.count == 0 else {
                return false
            }
            if let end = span.end {
                guard end >= span.next, end > span.start || spans.count == 1 else { return false }
                previousEnd = end
            } else if index < spans.count - 1 {
                return false
            }
        }
        return total == spans.last?.end
    }

    /// The validator of a response, for If-Range: an entity tag, unless it is weak; or else the date of the last change, if that is old enough
    /// to be strong (RFC 9110, 8.8.2.2).
    static func validator(of response: HTTPResponse) -> String? {
        if let tag = response.headers["etag"] { return tag.hasPrefix("\"") && tag.count >= 2 ? tag : nil }
        guard let modified = response.headers["last-modified"], let changed = HTTPDate.parse(modified),
            let sent = response.headers["date"].flatMap(HTTPDate.parse), sent.timeIntervalSince(changed) >= 60
        else { return nil }
        return modified
    }

    /// A hash of a URL that stays the same from run to run (FNV-1a, twice 64 bits).
    static func source(_ url: URL) -> String {
        var hashes: [UInt64] = [0xCBF2_9CE4_8422_2325, 0x84AF_EB4D_0132_9A21]
        for byte in url.absoluteString.utf8 {
            for index in hashes.indices { hashes[index] = (hashes[index] ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        }
        return hashes.map { String($0, radix: 16) }.joined(separator: "-")
    }
}
