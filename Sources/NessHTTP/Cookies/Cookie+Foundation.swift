import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Cookie {
    /// Makes a cookie from one of Foundation, such as those of a login in a web view, which WebKit's `httpCookieStore.allCookies()`
    /// returns.
    ///
    /// ```swift
    /// let jar = CookieJar()
    /// for cookie in HTTPCookieStorage.shared.cookies ?? [] {
    ///     if let cookie = Cookie(cookie) { jar.insert(cookie) }
    /// }
    /// ```
    /// - Parameter cookie: The cookie of Foundation. A leading dot of its domain means that subdomains also get it.
    /// - Returns: The cookie. `nil` if it cannot be sent.
    public init?(_ cookie: HTTPCookie) {
        let domain = Self.withoutDot(cookie.domain), isForAll = !domain.isExactly(cookie.domain)
        self.init(
            name: cookie.name, value: cookie.value, domain: domain,
            includesSubdomains: isForAll, path: cookie.path, expires: cookie.isSessionOnly ? nil : cookie.expiresDate,
            isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly)
    }

    /// The cookie for Foundation, such as for a web view that shows a page to a user who has logged in. `nil` if Foundation rejects it.
    public var httpCookie: HTTPCookie? {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .domain: isHostOnly ? domain : ".\(domain)", .path: path,
        ]
        if let expires { properties[.expires] = expires }
        if isSecure { properties[.secure] = "TRUE" }
        // Foundation has no constant for this key, but reads it.
        if isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        return HTTPCookie(properties: properties)
    }
}
