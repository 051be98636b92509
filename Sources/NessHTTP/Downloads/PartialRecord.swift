import Foundation

/// The record of an incomplete download, kept beside the partial file so that a later run can resume it.
///
/// On the disk the record only counts bytes that are certainly there. Bytes beyond may be damaged.
struct PartialRecord: Codable, Sendable {
    /// A part of the file that is fetched from its start to its end.
    struct Span: Codable, Sendable, Hashable {
        let start: Int64
        /// One past the last byte. `nil` while the length of the file is unknown.
        var end: Int64?
        /// The number of received bytes of the span. In a record that was read: the number on the disk.
        var count: Int64 = 0

        var next: Int64 { start + count }
        var isComplete: Bool { next == end }
    }

    static let currentVersion = 1

    var version = currentVersion
    /// The hash of the request: see `source(of:)`. A hash, because a URL may contain a secret.
    var source: String
    /// The validator for If-Range (RFC 9110, 13.1.5): a strong entity tag or a date. `nil` if the server sends none; then the download
    /// cannot be resumed.
    var validator: String?
    /// The length of the file in bytes, if it is known.
    var total: Int64?
    /// The fields of the first response that describe the file. A 206 need not repeat them (RFC 9110, 15.3.7).
    private(set) var fields: [String: String] = [:]
    var spans: [Span]

    init(source: String) {
        self.source = source
        spans = [Span(start: 0, end: nil)]
    }

    static let fieldNames = [
        HeaderName.contentDisposition, HeaderName.contentEncoding, HeaderName.contentLanguage, HeaderName.contentType,
        HeaderName.entityTag, HeaderName.lastModified,
    ]

    /// Takes the fields that describe the file from its first response.
    mutating func takeFields(of response: HTTPResponse) {
        fields = [:]
        for name in Self.fieldNames { fields[name] = response.headers[name] }
    }

    /// The number of received bytes.
    var count: Int64 { spans.reduce(0) { $0 + $1.count } }

    /// The position after the bytes of the last span. Spans before it may lack bytes.
    var next: Int64 { spans[spans.count - 1].next }

    var isComplete: Bool { spans.allSatisfy(\.isComplete) }

    /// True if the file has no byte and is not split.
    var isEmpty: Bool { count == 0 && spans.count == 1 }

    /// True if a later run could resume from these bytes.
    var isOfUse: Bool { !source.isEmpty && validator != nil && count > 0 }

    /// Checks whether the record is consistent and has bytes to resume. Another program may have written the file.
    func isValid(forFileOf length: Int64) -> Bool {
        guard version == Self.currentVersion, let validator, Self.isTag(validator) || HTTPDate.parse(validator) != nil,
            !spans.isEmpty, spans.count <= 1_000, total == spans.last?.end
        else { return false }
        var previousEnd: Int64 = 0
        for (index, span) in spans.enumerated() {
            // The numbers are not trusted: a sum may overflow.
            let (next, isTooMuch) = span.start.addingReportingOverflow(span.count)
            guard span.start == previousEnd, span.count >= 0, !isTooMuch, next <= length || span.count == 0 else { return false }
            if let end = span.end {
                guard end >= next, end > span.start else { return false }
                previousEnd = end
            } else if index < spans.count - 1 {
                return false
            }
        }
        return count > 0
    }

    /// Splits a file into spans of about the same size. Every span has at least one byte.
    static func spans(of total: Int64, cutInto number: Int) -> [Span] {
        let number = max(1, min(Int64(number), total))
        let size = total / number
        return (0..<number).map { index in Span(start: index * size, end: index == number - 1 ? total : (index + 1) * size) }
    }

    // MARK: validators

    /// The validator of a response for If-Range: the entity tag, unless it is weak; otherwise the `Last-Modified` date, if it is old enough
    /// to be strong (RFC 9110, 8.8.2.2).
    static func validator(of response: HTTPResponse) -> String? {
        if let tag = response.headers[HeaderName.entityTag], isTag(tag) { return tag }
        guard let modified = response.headers[HeaderName.lastModified], let changed = HTTPDate.parse(modified),
            let sent = response.headers[HeaderName.date].flatMap(HTTPDate.parse), sent.timeIntervalSince(changed) >= 60
        else { return nil }
        return modified
    }

    /// Checks whether a response names another version than the validator. A response without a version does not.
    static func isOther(_ response: HTTPResponse, than validator: String) -> Bool {
        response.headers[isTag(validator) ? HeaderName.entityTag : HeaderName.lastModified].map { !$0.isExactly(validator) } ?? false
    }

    /// Checks whether a string is a strong entity tag (RFC 9110, 8.8.3).
    static func isTag(_ text: String) -> Bool {
        let quote = UInt8(ascii: "\"")
        guard text.utf8.count >= 2, text.utf8.first == quote, text.utf8.last == quote else { return false }
        return text.utf8.dropFirst().dropLast().allSatisfy { $0 >= 32 && $0 != 127 && $0 != quote }
    }

    // MARK: sources

    /// Computes the hash of a request's URL, or of the identifier in its place, and of the `Accept…` fields, by which servers choose a
    /// representation.
    static func source(of request: HTTPRequest, identifiedBy identifier: String? = nil) -> String {
        let accepted = request.headers.filter { $0.name.lowercased().hasPrefix("accept") }
        let source = identifier ?? request.url.absoluteString
        return hash(([source] + accepted.map { "\($0.name.lowercased()): \($0.value)" }).joined(separator: "\n"))
    }

    /// Computes a hash that is the same in every run and short enough for a file name: half of the SHA-256 digest.
    static func hash(_ text: String) -> String { String(SHA256Hash.hex(of: [text]).prefix(32)) }
}

/// The period since the system's last start. Bytes that were written but not synced are safe until the next start.
enum BootSession {
    /// Identifies the period. `nil` if the system does not report it.
    static let current = read()

    private static func read() -> String? {
        #if canImport(Darwin)
        // A time of start that is computed from clocks would change when the system sleeps or its clock is set.
        var text = [UInt8](repeating: 0, count: 64), length = 64
        guard sysctlbyname("kern.bootsessionuuid", &text, &length, nil, 0) == 0, text[0] != 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        #else
        let file = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") ?? Data()
        let identifier = String(decoding: file, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return identifier.isEmpty ? nil : identifier
        #endif
    }
}
