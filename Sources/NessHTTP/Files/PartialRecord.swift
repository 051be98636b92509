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
    /// What was asked for, as a hash: a URL may hold a secret.
    var source: String
    /// What If-Range compares (RFC 9110, 13.1.5): a strong entity tag or date; nil where the server gives none, and nothing can be resumed.
    var validator: String?
    /// The length of the whole, if it is known.
    var total: Int64?
    /// What the server called the file when it began: it need not say so again of a part (RFC 9110, 15.3.7).
    var fileName: String?
    var spans: [Span]

    init(source: String) {
        self.source = source
        spans = [Span(start: 0, end: nil)]
    }

    /// How many bytes there are.
    var count: Int64 { spans.reduce(0) { $0 + $1.count } }

    var isWhole: Bool { spans.allSatisfy(\.isWhole) }

    /// Whether the record makes sense, whoever wrote it, and there is something to go on with.
    func isValid(forFileOf length: Int64) -> Bool {
        guard version == Self.currentVersion, let validator, Self.isTag(validator) || HTTPDate.parse(validator) != nil,
            !spans.isEmpty, spans.count <= 1_000, total == spans.last?.end
        else { return false }
        var previousEnd: Int64 = 0
        for (index, span) in spans.enumerated() {
            // No number here is taken for what it says: a sum may overflow.
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

    /// Cuts what is to be fetched into parts of about the same size; one where there is too little to cut.
    static func spans(of total: Int64, cutInto number: Int) -> [Span] {
        let number = max(1, min(Int64(number), total))
        let size = total / number
        return (0..<number).map { index in Span(start: index * size, end: index == number - 1 ? total : (index + 1) * size) }
    }

    // MARK: validators

    /// The validator of a response, for If-Range: an entity tag, unless it is weak; or else the date of the last change, if that is old enough
    /// to be strong (RFC 9110, 8.8.2.2).
    static func validator(of response: HTTPResponse) -> String? {
        if let tag = response.headers[HeaderName.entityTag], isTag(tag) { return tag }
        guard let modified = response.headers[HeaderName.lastModified], let changed = HTTPDate.parse(modified),
            let sent = response.headers[HeaderName.date].flatMap(HTTPDate.parse), sent.timeIntervalSince(changed) >= 60
        else { return nil }
        return modified
    }

    /// Whether what a response says of its version is something else than a validator.
    static func isOther(_ response: HTTPResponse, than validator: String) -> Bool {
        response.headers[isTag(validator) ? HeaderName.entityTag : HeaderName.lastModified].map { $0 != validator } ?? false
    }

    /// Whether a text is a strong entity tag (RFC 9110, 8.8.3).
    static func isTag(_ text: String) -> Bool {
        let quote = UInt8(ascii: "\"")
        guard text.utf8.count >= 2, text.utf8.first == quote, text.utf8.last == quote else { return false }
        return text.utf8.dropFirst().dropLast().allSatisfy { $0 >= 32 && $0 != 127 && $0 != quote }
    }

    // MARK: sources

    /// What was asked for: the URL, and the fields that servers choose a representation by.
    static func source(of request: HTTPRequest) -> String {
        let accepted = request.headers.filter { $0.name.lowercased().hasPrefix("accept") }
        return hash(([request.url.absoluteString] + accepted.map { "\($0.name.lowercased()): \($0.value)" }).joined(separator: "\n"))
    }

    /// Computes a hash of a text that is the same in every run, and short enough for a file's name: half of its SHA-256 digest.
    static func hash(_ text: String) -> String { String(SHA256Hash.hex(of: [text]).prefix(32)) }
}
