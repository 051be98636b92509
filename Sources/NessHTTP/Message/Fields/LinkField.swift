import Foundation

/// One link of the field `Link` (RFC 8288, section 3).
struct WebLink: Sendable, Equatable {
    /// The target, as it was written.
    var target: String
    /// The relation types, in lower case.
    var relations: [String] = []
    /// The resource that the link leads from, as it was written; `nil` for the response itself.
    var anchor: String?

    /// Reads the links of a field. A member that is not a link does not count.
    /// - Parameter value: The field's value.
    static func links(in value: String) -> [WebLink] {
        var reader = HeaderFieldValue(value)
        var links: [WebLink] = []
        while !reader.isAtEnd {
            reader.skip { HeaderFieldValue.isSpace($0) || $0 == HeaderFieldValue.comma }
            // The target may contain commas, semicolons and quotes, so it is read before the list is split.
            if reader.take(UInt8(ascii: "<")) {
                var link = WebLink(target: reader.word { $0 == UInt8(ascii: ">") })
                guard reader.take(UInt8(ascii: ">")) else { break }
                link.readParameters(&reader)
                links.append(link)
            }
            reader.skip { $0 != HeaderFieldValue.comma }
        }
        return links
    }

    /// Reads the parameters up to the comma after the link. Of several `rel` the first counts (RFC 8288, section 3.3).
    private mutating func readParameters(_ reader: inout HeaderFieldValue) {
        func isEnd(_ byte: UInt8) -> Bool { byte == HeaderFieldValue.semicolon || byte == HeaderFieldValue.comma }
        var hasRelation = false
        reader.skipSpace()
        while reader.take(HeaderFieldValue.semicolon) {
            let name = reader.word { $0 == HeaderFieldValue.equals || isEnd($0) }.asciiLowercased
            let value = reader.take(HeaderFieldValue.equals) ? reader.value(upTo: isEnd) : ""
            reader.skip { !isEnd($0) }
            switch name {
            case "rel" where !hasRelation:
                hasRelation = true
                relations = value.utf8.split(whereSeparator: HeaderFieldValue.isSpace).map { Substring($0).asciiLowercased }
            case "anchor" where anchor == nil: anchor = value
            default: break
            }
        }
    }
}

extension HTTPResponse {
    /// Returns the target of the first link with a relation type in the field `Link` (RFC 8288), such as `next`, `prev` or `last`.
    ///
    /// ```swift
    /// let last = result.message.linkURL(relation: "last")
    /// ```
    /// - Parameter relation: The relation type, in any case.
    /// - Returns: The URL, resolved against the response's URL; `nil` if there is no such link, or if its target is not a URL. A link that
    ///   leads from another resource (`anchor`) does not count.
    public func linkURL(relation: String) -> URL? { link(relation: relation).flatMap { HTTPResponse.resolve($0.target, against: url) } }

    /// Returns the first link with a relation type that leads from this response.
    func link(relation: String) -> WebLink? {
        let relation = relation.asciiLowercased
        return headers.values(for: "Link").lazy.flatMap { WebLink.links(in: $0) }.first { link in
            guard link.relations.contains(where: { $0.isExactly(relation) }) else { return false }
            guard let anchor = link.anchor else { return true }
            guard let source = anchor.isEmpty ? url : HTTPResponse.resolve(anchor, against: url) else { return false }
            return ParsedURL(source).normalized == ParsedURL(url).normalized
        }
    }
}
