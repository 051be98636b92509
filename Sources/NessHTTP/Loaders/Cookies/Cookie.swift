import Foundation

/// One cookie, as a server set it (RFC 6265, 5.3).
public struct Cookie: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The value, as it was given.
    public let value: String
    /// The host that set it, or the domain it is for, in lower case.
    public let domain: String
    /// Whether it goes to that host alone, and not to those below it.
    package let isHostOnly: Bool
    /// The path that it is for, with all below.
    public let path: String
    /// When it ends; nil for one that lasts as long as the jar.
    public let expires: Date?
    /// Whether it is only sent by https.
    public let isSecure: Bool

    /// The most bytes that a cookie may have with its attributes: what is longer is left out (RFC 6265, 6.1).
    static let maximumLength = 4096

    /// Reads the value of a Set-Cookie field.
    /// - Parameters:
    ///   - field: The value.
    ///   - url: Whose response it stands in.
    ///   - now: What Max-Age counts from.
    /// - Returns: The cookie; nil for what is none, or what this server may not set.
    package init?(setCookie field: String, from url: URL, now: Date) {
        let url = ParsedURL(url), host = url.host
        guard field.utf8.count <= Self.maximumLength, !host.isEmpty,
            !field.utf8.contains(where: { ($0 < 32 && $0 != 9) || $0 == 127 })
        else { return nil }
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { Substring($0) }
        guard let (name, value) = Self.pair(parts[0]), let value, !name.isEmpty else { return nil }
        var attributes: [String: String] = [:]
        for part in parts.dropFirst() {
            guard let (key, value) = Self.pair(part) else { continue }
            // The last of each counts.
            attributes[key.lowercased()] = value ?? ""
        }
        self.name = name
        self.value = value
        isSecure = attributes["secure"] != nil
        // What comes in the clear must not replace what does not.
        if isSecure && url.scheme != "https" { return nil }
        let given = attributes["domain"].map { $0.lowercased().drop { $0 == "." } }.map(String.init) ?? ""
        guard let domain = Self.domain(given, from: host) else { return nil }
        (self.domain, isHostOnly) = domain
        let path = attributes["path"] ?? ""
        self.path = path.hasPrefix("/") ? path : url.folder
        expires = Self.expiry(attributes, now)
        // Names that promise something (RFC 6265bis, 4.1.3).
        let lower = name.lowercased()
        if lower.hasPrefix("__secure-"), !isSecure { return nil }
        if lower.hasPrefix("__host-"), !isSecure || !isHostOnly || self.path != "/" { return nil }
    }

    private static func pair(_ text: Substring) -> (String, String?)? {
        func trimmed(_ text: Substring) -> String { text.trimmingCharacters(in: .init(charactersIn: " \t")) }
        guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(text), nil) }
        return (trimmed(text[..<sign]), trimmed(text[text.utf8.index(after: sign)...]))
    }

    /// Whose the cookie is; nil where this host may not set it. Of names that nobody owns, such as `com`, only those with a single label are
    /// known: there is no list of public suffixes here.
    private static func domain(_ given: String, from host: String) -> (String, Bool)? {
        if given.isEmpty || given == host { return (host, given.isEmpty || isAddress(host) || !host.contains(".")) }
        guard given.contains("."), !isAddress(host), host.hasSuffix("." + given) else { return nil }
        return (given, false)
    }

    /// Whether a host is no name: an address has no domain above it.
    private static func isAddress(_ host: String) -> Bool {
        host.contains(":") || host.split(separator: ".").last.map { $0.allSatisfy(\.isNumber) } ?? true
    }

    /// Max-Age, which counts before Expires; nil where neither says anything.
    private static func expiry(_ attributes: [String: String], _ now: Date) -> Date? {
        if let text = attributes["max-age"], let seconds = Int(text) {
            return seconds <= 0 ? .distantPast : now.addingTimeInterval(min(TimeInterval(seconds), 400 * 86_400))
        }
        return attributes["expires"].flatMap(HTTPDate.parse)
    }

    // MARK: sending

    /// Whether it goes along with a request (RFC 6265, 5.4).
    package func applies(to url: URL, now: Date) -> Bool {
        if isExpired(now) { return false }
        let url = ParsedURL(url), host = url.host
        guard host == domain || (!isHostOnly && host.hasSuffix("." + domain) && !Self.isAddress(host)) else { return false }
        if isSecure && url.scheme != "https" { return false }
        let asked = url.path
        return asked == path || (asked.hasPrefix(path) && (path.hasSuffix("/") || asked.dropFirst(path.count).first == "/"))
    }

    func isExpired(_ now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// The name and whose it is; the value is a secret.
    public var description: String { "\(name.oneLine)=\(SecretNames.mark) for \(domain)\(path.oneLine)" }
    /// Only the description, so that dumping a cookie shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}
