extension HTTPCache {
    /// The cookies that identify the user of a request for an `HTTPCache`.
    ///
    /// Regardless of them, a response with `Vary: Cookie` is used only for requests with equal cookies.
    public enum UserCookies: Sendable, Hashable {
        /// The cookies of a `Cookie` field that the request sets itself, unless the authentication gives a `userIdentifier`. The cookies of
        /// a `CookieJar` do not count: as in a browser, one jar is one user, even if a cookie changes.
        case setByRequest
        /// The cookies with these names, from a request or a jar, such as the one that holds the session.
        case named(Set<String>)
        /// All cookies, from a request or a jar. A response is then no longer found after any of them has changed.
        case all
        /// No cookies.
        case none
    }
}

extension HTTPCache.UserCookies {
    /// Returns those cookies of a `Cookie` field that identify the user. `nil` if no cookie does.
    /// - Parameters:
    ///   - field: The field's value.
    ///   - jar: Tells which part of the field the request has set itself. `nil` if it has set all of the field.
    ///   - isUserNamed: True if the authentication names the user.
    func part(of field: String, besides jar: JarCookies?, isUserNamed: Bool) -> String? {
        switch self {
        case .none: return nil
        case .all: return field
        case .setByRequest: return isUserNamed ? nil : jar.map { $0.callersField(in: field) } ?? field
        case .named(let names):
            let names = Set(names.map { ExactText($0) })
            let pairs = field.utf8.split(separator: UInt8(ascii: ";")).map { HeaderFieldValue.trimmed(String(Substring($0))) }
            let named = pairs.filter { names.contains(ExactText(String(Substring($0.utf8.prefix { $0 != UInt8(ascii: "=") })))) }
            return named.isEmpty ? nil : named.joined(separator: "; ")
        }
    }
}
