import Foundation

/// The parts of a URL, for the cache, the queues, credentials and cookies.
///
/// Most URLs have the form `http[s]://host[:port]/path?query`, with a host of small letters, digits, dots and hyphens. This type parses
/// them itself, in one pass over the bytes: in 0.1 µs, where `URLComponents` takes some microseconds. `URLComponents` parses all others.
package struct ParsedURL: Sendable {
    private enum Form: Sendable {
        case common(CommonURL)
        case other(URLComponents)
    }

    private let text: String
    private let form: Form

    /// Parses a URL in the common form.
    /// - Parameter text: The whole URL.
    /// - Returns: `nil` for a URL in another form, which may be valid.
    package init?(commonForm text: String) {
        guard let common = CommonURL(text) else { return nil }
        self.text = text
        form = .common(common)
    }

    /// Parses a URL in any form.
    /// - Parameter url: The URL. A relative URL is resolved first.
    package init(_ url: URL) {
        text = url.absoluteString
        form =
            if let common = CommonURL(text) { .common(common) } else {
                .other(URLComponents(url: url, resolvingAgainstBaseURL: true) ?? URLComponents())
            }
    }

    // MARK: parts

    /// The scheme, in lower case. Empty if the URL has no scheme.
    package var scheme: String {
        switch form {
        case .common(let common): common.scheme
        case .other(let parts): parts.scheme?.asciiLowercased ?? ""
        }
    }

    /// The percent-decoded host, with its ASCII letters in lower case. Empty if the URL has no host.
    package var host: String {
        switch form {
        case .common(let common): slice(common.host)
        case .other(let parts): (parts.host ?? parts.percentEncodedHost ?? "").asciiLowercased
        }
    }

    /// The port, or else the default port of the scheme. `nil` for a scheme other than http and https.
    package var port: Int? {
        switch form {
        case .common(let common): common.port ?? common.defaultPort
        case .other(let parts): parts.port ?? Self.defaultPort(of: scheme)
        }
    }

    /// The path, percent-encoded; `/` if it is empty.
    package var path: String {
        let path =
            switch form {
            case .common(let common): slice(common.path)
            case .other(let parts): parts.percentEncodedPath
            }
        return path.isEmpty ? "/" : path
    }

    /// The path up to its last slash, without the slash. `/` for the top (RFC 6265, 5.1.4).
    package var folder: String {
        let path = path
        guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else {
            return "/"
        }
        return String(path[..<slash])
    }

    /// The request target: path and query (RFC 9112, 3.2.1).
    package var target: String {
        switch form {
        case .common(let common):
            let end = slice(common.path.lowerBound..<text.utf8.count)
            return common.path.isEmpty ? "/" + end : end
        case .other(let parts): return path + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
        }
    }

    private func slice(_ range: Range<Int>) -> String {
        let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
        return String(text[start..<text.utf8.index(start, offsetBy: range.count)])
    }

    private static func defaultPort(of scheme: String) -> Int? {
        switch scheme {
        case "https": 443
        case "http": 80
        default: nil
        }
    }

    // MARK: origin and comparison

    /// A scheme, a host and a port (RFC 6454).
    package struct Origin: Sendable, Hashable, CustomStringConvertible {
        let scheme: String
        let host: ExactText
        let port: Int?

        /// The origin in one line, with its port.
        package var description: String { "\(scheme)://\(host.text.oneLine):\(port ?? 0)" }
    }

    /// The origin.
    package var origin: Origin { Origin(scheme: scheme, host: ExactText(host), port: port) }

    /// The URL in its normal form (RFC 3986, 6.2), except for escapes: scheme and host in lower case, no default port, no fragment, `/` for
    /// an empty path.
    package var normalized: String {
        switch form {
        case .common(let common):
            let hasDefaultPort = common.port == common.defaultPort
            if !common.path.isEmpty && !hasDefaultPort { return text }
            let authorityEnd = hasDefaultPort ? common.host.upperBound : common.path.lowerBound
            return slice(0..<authorityEnd) + target
        case .other(var parts):
            parts.scheme = parts.scheme?.asciiLowercased
            parts.percentEncodedHost = parts.percentEncodedHost?.asciiLowercased
            if parts.port == Self.defaultPort(of: scheme) { parts.port = nil }
            parts.fragment = nil
            if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
            return parts.string ?? text
        }
    }

    /// Checks whether another URL lies inside this one: it has the same origin, and a path in or below this one's, which counts as a
    /// folder.
    ///
    /// A path with dot segments lies outside: servers do not agree on its meaning. They do not agree on escapes either, so `a%2F..%2Fb` has
    /// a dot segment. `group%2Fname` has none, with or without its escape.
    package func contains(_ other: ParsedURL) -> Bool {
        guard origin == other.origin else { return false }
        let path = other.path
        if Self.hasDotSegments(path) { return false }
        var folder = self.path
        if folder.utf8.last != UInt8(ascii: "/") { folder += "/" }
        return (path + "/").isExactly(folder) || path.startsExactly(with: folder)
    }

    /// Returns true if a path has a dot segment when its escapes are read, backslashes count as slashes, or parameters (`..;a`) are left
    /// out.
    private static func hasDotSegments(_ path: String) -> Bool {
        var path = path
        if path.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "\\") }) {
            path = path.lowercased().replacing("%2e", with: ".").replacing("%3b", with: ";").replacing("%2f", with: "/")
                .replacing("%5c", with: "/").replacing("\\", with: "/")
        }
        return path.split(separator: "/").contains { segment in
            let name = segment.prefix { $0 != ";" }
            return name == "." || name == ".."
        }
    }
}

/// The positions of the parts of a URL in the common form, as offsets in its bytes.
private struct CommonURL: Sendable {
    let isSecure: Bool
    private(set) var host: Range<Int>
    private(set) var port: Int?
    private(set) var path: Range<Int>

    var scheme: String { isSecure ? "https" : "http" }
    var defaultPort: Int { isSecure ? 443 : 80 }

    /// - Returns: `nil` for a URL in another form: with a user, a fragment, a port outside of 1 to 65535, an incomplete escape, or a byte
    ///   that is not allowed at its position (RFC 3986, 3.3 and 3.4).
    init?(_ text: String) {
        let found =
            text.utf8.withContiguousStorageIfAvailable { CommonURL($0) } ?? Array(text.utf8).withUnsafeBufferPointer { CommonURL($0) }
        guard let found else { return nil }
        self = found
    }

    private init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        isSecure = bytes.begins(with: "https://")
        guard isSecure || bytes.begins(with: "http://") else { return nil }
        let start = isSecure ? 8 : 7
        let hostEnd = bytes[start...].firstIndex { !Self.isHost($0) } ?? bytes.endIndex
        host = start..<hostEnd
        var place = hostEnd
        if place < bytes.endIndex, bytes[place] == UInt8(ascii: ":") {
            let end = bytes[(place + 1)...].firstIndex { !$0.isDigit } ?? bytes.endIndex
            // A port that is too large for `Int` is invalid.
            guard let port = Int(String(decoding: bytes[(place + 1)..<end], as: UTF8.self)), 1...65_535 ~= port,
                bytes[place + 1] != UInt8(ascii: "0")
            else { return nil }
            self.port = port
            place = end
        }
        let pathStart = place
        if place < bytes.endIndex, bytes[place] == UInt8(ascii: "/") {
            guard let end = Self.end(of: bytes, from: place, at: UInt8(ascii: "?")) else { return nil }
            place = end
        }
        path = pathStart..<place
        if place < bytes.endIndex {
            guard bytes[place] == UInt8(ascii: "?"), Self.end(of: bytes, from: place + 1, at: nil) != nil else { return nil }
        }
        guard !host.isEmpty else { return nil }
    }

    /// Finds the end of a path or a query. `nil` if it contains a byte that is not allowed there.
    private static func end(of bytes: UnsafeBufferPointer<UInt8>, from start: Int, at delimiter: UInt8?) -> Int? {
        var place = start
        while place < bytes.endIndex, bytes[place] != delimiter {
            if bytes[place] == UInt8(ascii: "%") {
                guard place + 2 < bytes.endIndex, bytes[place + 1].hexDigitValue != nil, bytes[place + 2].hexDigitValue != nil else {
                    return nil
                }
                place += 3
            } else {
                guard isOrdinary(bytes[place]) else { return nil }
                place += 1
            }
        }
        return place
    }

    private static func isHost(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "-")...UInt8(ascii: "9")).contains(byte) && byte != UInt8(ascii: "/")
    }

    /// Checks whether a byte may occur unescaped in a path or a query.
    private static func isOrdinary(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "?")...UInt8(ascii: "Z"), UInt8(ascii: "&")...UInt8(ascii: ";"),
            UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension ParsedURL {
    /// Returns true if a host is an IP address, which has no parent domain.
    ///
    /// A URL's host is an address of IPv4 if its last label is a number, decimal, octal or hexadecimal (WHATWG URL Standard, "ends in a
    /// number checker"): `127.0.0.1`, `127.0.0.0x1`, `2130706433`.
    static func isAddress(host: String) -> Bool {
        if host.utf8.contains(UInt8(ascii: ":")) { return true }
        var labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard let label = labels.last, !label.isEmpty else { return true }
        // Digits beyond ASCII count, because a resolver may map them to those of ASCII.
        if Substring(label).unicodeScalars.allSatisfy({ $0.properties.numericType != nil }) { return true }
        return Substring(label.prefix(2)).equalsIgnoringCase("0x") && label.dropFirst(2).allSatisfy { $0.hexDigitValue != nil }
    }
}

extension URL {
    /// Checks whether scheme, host and port are the same (RFC 6454).
    package func hasSameOrigin(as other: URL) -> Bool { ParsedURL(self).origin == ParsedURL(other).origin }

    /// Checks whether another URL lies inside this one, by origin and path: see `ParsedURL.contains(_:)`.
    package func contains(_ other: URL) -> Bool { ParsedURL(self).contains(ParsedURL(other)) }
}

extension UnsafeBufferPointer<UInt8> {
    /// Compares in one step: every request has its URL parsed, and the generic comparison takes ten times as long.
    fileprivate func begins(with prefix: StaticString) -> Bool {
        guard let baseAddress, count >= prefix.utf8CodeUnitCount else { return false }
        return memcmp(baseAddress, prefix.utf8Start, prefix.utf8CodeUnitCount) == 0
    }
}
