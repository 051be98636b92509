import Foundation

/// A cookie, as a server or the application set it (RFC 6265bis, 5.7). A cookie without a name is rejected.
///
/// Its encoded form contains the value in clear text. No description does.
public struct Cookie: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The value, as the server sent it.
    public let value: String
    /// The host that set the cookie, or the domain that it is for, in lower case.
    public let domain: String
    /// True if the cookie is sent to `domain` only, and not to its subdomains.
    package let isHostOnly: Bool
    /// The path that the cookie is for, including all paths below.
    public let path: String
    /// The expiry time. `nil` for a cookie that lasts as long as the jar.
    public let expires: Date?
    /// A Boolean value that indicates whether the cookie is sent over https only.
    public let isSecure: Bool
    /// A Boolean value that indicates whether scripts of a web page are kept from the cookie. A jar only passes this on, to a web view.
    public let isHTTPOnly: Bool

    /// The length limits in bytes: of the name and value together, and of an attribute's value (RFC 6265bis, 5.6).
    private static let maximumLength = (pair: 4_096, attribute: 1_024)
    /// The longest time that a cookie is kept (RFC 6265bis, 5.5): 400 days.
    private static let maximumAge: TimeInterval = 400 * 86_400

    /// Makes a cookie.
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - domain: The host that the cookie is for.
    ///   - includesSubdomains: True to send the cookie to all hosts below `domain` as well. It has no effect for an address and for a
    ///     public suffix, such as `co.uk`.
    ///   - path: The path that the cookie is for, including all paths below.
    ///   - expires: The expiry time. `nil` for a cookie that lasts as long as the jar.
    ///   - isSecure: True to send the cookie over https only.
    ///   - isHTTPOnly: True to keep scripts of a web page from the cookie.
    /// - Returns: The cookie. `nil` if it cannot be sent: the name or the domain is empty, the path has no leading slash, a string contains
    ///   a control character, the name or the value contains a semicolon, the name contains `=`, both together are longer than 4,096 bytes,
    ///   or the attributes contradict the prefix `__Secure-` or `__Host-` of the name (RFC 6265bis, 4.1.3).
    public init?(
        name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/", expires: Date? = nil,
        isSecure: Bool = false, isHTTPOnly: Bool = false
    ) {
        self.name = name
        self.value = value
        self.domain = domain.asciiLowercased
        isHostOnly = !includesSubdomains || ParsedURL.isAddress(host: self.domain) || PublicSuffix.contains(self.domain)
        self.path = path
        // A file of cookies can't hold an infinite date.
        self.expires = expires.map { max(.distantPast, min(.distantFuture, $0)) }
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        guard !name.isEmpty, !domain.isEmpty, path.utf8.first == UInt8(ascii: "/"), !name.utf8.contains(UInt8(ascii: "=")),
            !"\(name)\(value)".utf8.contains(UInt8(ascii: ";")), ![name, value, domain, path].contains(where: Self.hasControl),
            name.utf8.count + value.utf8.count <= Self.maximumLength.pair
        else { return nil }
        // The prefixes of these names guarantee attributes (RFC 6265bis, 4.1.3).
        let lower = name.asciiLowercased
        if lower.startsExactly(with: "__secure-"), !isSecure { return nil }
        if lower.startsExactly(with: "__host-"), !isSecure || !isHostOnly || path != "/" { return nil }
    }

    /// Reads the value of a `Set-Cookie` field.
    /// - Parameters:
    ///   - field: The value.
    ///   - url: The URL of the response.
    ///   - now: The present time. Max-Age counts from it.
    /// - Returns: The cookie. `nil` if the field is invalid, or if this server may not set the cookie.
    package init?(setCookie field: String, from url: URL, now: Date) {
        let url = ParsedURL(url), host = url.host
        if Self.hasControl(field) { return nil }
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { Substring($0) }
        let (name, given) = Self.pair(parts[0])
        guard let value = given else { return nil }
        let attributes = Self.attributes(parts.dropFirst(), now)
        if attributes.isSecure && url.scheme != "https" { return nil }
        guard let (domain, isHostOnly) = Self.domain(attributes.domain, from: host) else { return nil }
        self.init(
            name: name, value: value, domain: domain, includesSubdomains: !isHostOnly,
            path: attributes.path.utf8.first == UInt8(ascii: "/") ? attributes.path : url.folder,
            expires: attributes.maxAgeExpiry ?? attributes.expires.map { min($0, now + Self.maximumAge) }, isSecure: attributes.isSecure,
            isHTTPOnly: attributes.isHTTPOnly)
    }

    /// Checks for control characters. A tab is allowed (RFC 6265bis, 5.6).
    private static func hasControl(_ text: String) -> Bool { text.utf8.contains { ($0 < 32 && $0 != 9) || $0 == 127 } }

    private static func pair(_ text: Substring) -> (name: String, value: String?) {
        func trimmed(_ text: Substring) -> String { HeaderFieldValue.trimmed(String(text)) }
        guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(text), nil) }
        return (trimmed(text[..<sign]), trimmed(text[text.utf8.index(after: sign)...]))
    }

    private struct Attributes {
        var domain = "", path = "", isSecure = false, isHTTPOnly = false
        var expires: Date?, maxAgeExpiry: Date?
    }

    /// Reads the attributes. The last of each name counts; invalid ones are ignored.
    private static func attributes(_ parts: some Sequence<Substring>, _ now: Date) -> Attributes {
        var attributes = Attributes()
        for part in parts {
            let (name, given) = pair(part)
            let value = given ?? ""
            guard value.utf8.count <= maximumLength.attribute else { continue }
            switch name.asciiLowercased {
            case "domain": attributes.domain = withoutDot(value).asciiLowercased
            case "path": attributes.path = value
            case "secure": attributes.isSecure = true
            case "httponly": attributes.isHTTPOnly = true
            case "expires": attributes.expires = CookieDate.parse(value) ?? attributes.expires
            case "max-age": attributes.maxAgeExpiry = end(maximumAge: value, now) ?? attributes.maxAgeExpiry
            default: break
            }
        }
        return attributes
    }

    /// Returns a domain without the dot that it may start with.
    static func withoutDot(_ domain: String) -> String {
        domain.utf8.first == UInt8(ascii: ".") ? String(Substring(domain.utf8.dropFirst())) : domain
    }

    /// The time at which a cookie with a Max-Age ends (RFC 6265bis, 5.6.2).
    private static func end(maximumAge text: String, _ now: Date) -> Date? {
        if text.utf8.first == UInt8(ascii: "-") {
            return HeaderFieldValue.number(Substring(text.utf8.dropFirst())) == nil ? nil : .distantPast
        }
        guard let seconds = HeaderFieldValue.number(text) else { return nil }
        // With 0 it has expired now: see `isExpired(_:)`.
        return now + min(TimeInterval(seconds), maximumAge)
    }

    /// The domain of a cookie, and whether only that host gets it; `nil` if this host may not set the cookie. A host sets cookies for its
    /// site and the domains in it: see `PublicSuffix`.
    private static func domain(_ given: String, from host: String) -> (domain: String, isHostOnly: Bool)? {
        if given.isEmpty { return (host, true) }
        // The initializer restricts a cookie for an address or a public suffix to that host.
        if given.isExactly(host) { return (host, false) }
        guard isInside(host, given), PublicSuffix.site(of: given) == PublicSuffix.site(of: host), let first = given.utf8.first,
            let last = given.utf8.last, first != UInt8(ascii: "."),
            last != UInt8(ascii: ".")
        else { return nil }
        return (given, false)
    }

    /// Checks whether a host lies below a domain.
    private static func isInside(_ host: String, _ domain: String) -> Bool {
        host.endsExactly(with: "." + domain) && !ParsedURL.isAddress(host: host)
    }

    // MARK: sending

    /// Checks whether the cookie is sent with a request to a URL (RFC 6265bis, 5.8).
    package func applies(to url: ParsedURL, now: Date) -> Bool {
        if isExpired(now) { return false }
        let host = url.host
        guard host.isExactly(domain) || (!isHostOnly && Self.isInside(host, domain)) else { return false }
        return (!isSecure || url.scheme == "https") && Self.isInside(path: url.path, path)
    }

    /// Checks whether a path equals another or lies below it (RFC 6265, 5.1.4).
    private static func isInside(path: String, _ folder: String) -> Bool {
        let slash = UInt8(ascii: "/")
        guard path.startsExactly(with: folder) else { return false }
        return folder.utf8.last == slash || [nil, slash].contains(path.utf8.dropFirst(folder.utf8.count).first)
    }

    /// Checks whether the cookie takes the place of another one that a jar has (RFC 6265bis, 5.7).
    func replaces(_ other: Cookie) -> Bool {
        name.isExactly(other.name) && path.isExactly(other.path) && domain.isExactly(other.domain) && isHostOnly == other.isHostOnly
    }

    /// Checks whether this cookie, if set over plain HTTP, would hide or replace a secure cookie (RFC 6265bis, 5.7).
    func overlays(_ secure: Cookie) -> Bool {
        secure.isSecure && name.isExactly(secure.name) && Self.isInside(path: path, secure.path)
            && (domain.isExactly(secure.domain) || Self.isInside(domain, secure.domain) || Self.isInside(secure.domain, domain))
    }

    func isExpired(_ now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie {
    /// Checks whether both are the same cookie with the same attributes. Text compares by its bytes.
    public static func == (left: Cookie, right: Cookie) -> Bool {
        left.replaces(right) && left.value.isExactly(right.value) && left.expires == right.expires && left.isSecure == right.isSecure
            && left.isHTTPOnly == right.isHTTPOnly
    }

    /// Adds name, value, domain and path to a hasher.
    public func hash(into hasher: inout Hasher) {
        for text in [name, value, domain, path] { hasher.combine(ExactText(text)) }
    }
}

extension Cookie: RedactedValue {
    /// The name, the domain and the path. The value is secret and hidden.
    package var redactedDescription: String { "\(name.oneLine)=\(Redactor.mark) for \(domain.oneLine)\(path.oneLine)" }
}

extension Cookie: Codable {
    /// The encoded form: the parameters of the initializer.
    private struct Fields: Codable {
        let name, value, domain: String
        let includesSubdomains: Bool
        let path: String
        let expires: Date?
        let isSecure, isHTTPOnly: Bool
    }

    /// Reads a cookie.
    /// - Throws: `DecodingError`, for example for a cookie that cannot be sent.
    public init(from decoder: any Decoder) throws {
        let fields = try Fields(from: decoder)
        let cookie = Cookie(
            name: fields.name, value: fields.value, domain: fields.domain, includesSubdomains: fields.includesSubdomains,
            path: fields.path, expires: fields.expires, isSecure: fields.isSecure, isHTTPOnly: fields.isHTTPOnly)
        guard let cookie else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no valid cookie"))
        }
        self = cookie
    }

    /// Writes the cookie, with its value in clear text.
    public func encode(to encoder: any Encoder) throws {
        try Fields(
            name: name, value: value, domain: domain, includesSubdomains: !isHostOnly, path: path, expires: expires, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly
        ).encode(to: encoder)
    }
}
