import Foundation
import NessLock

/// Stores the cookies that servers set, and adds them to later requests (RFC 6265bis).
///
/// ```swift
/// let jar = CookieJar()
/// let ness = Ness { $0.cookies = jar }
/// ```
///
/// A manager has no jar unless its configuration sets one. Managers may share a jar.
///
/// **On disk.** A jar lives in memory. It is written to a file when the application calls `write(to:)`, and at no other time:
///
/// ```swift
/// let jar = CookieJar(contentsOf: file)
/// // After a login, and when the application goes to the background or ends:
/// try jar.write(to: file)
/// ```
///
/// If a request sets `Cookie` itself, its own cookies are sent first, followed by the jar's. Where names are equal, only the request's own
/// cookie is sent.
///
/// The jar rejects a cookie for all hosts below a public suffix, such as `co.uk`. It knows only a short list of them. Give hosts that do
/// not trust each other separate jars.
public final class CookieJar: Sendable {
    private struct CookieKey: Hashable {
        let name: String
        let domain: String
        let path: String
        let isHostOnly: Bool

        init(_ cookie: Cookie) { (name, domain, path, isHostOnly) = (cookie.name, cookie.domain, cookie.path, cookie.isHostOnly) }
    }

    private struct State: Sendable {
        /// The cookies with the order in which they were first set.
        var cookies: [CookieKey: (cookie: Cookie, order: Int)] = [:]
        var next = 0
    }

    /// The most cookies for a domain and in a jar. Expired ones are removed first, then the oldest insecure ones (RFC 6265bis, 5.7).
    private static let most = (perDomain: 50, inAll: 3_000)

    private let state = Lock(State())
    private let now: @Sendable () -> Date

    /// Makes an empty jar.
    public convenience init() { self.init(now: { Date() }) }

    package init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// The cookies that have not expired, in the order in which they were set.
    public var cookies: [Cookie] {
        let now = now()
        return state.withLock { state in
            state.cookies.values.filter { !$0.cookie.isExpired(now) }.sorted { $0.order < $1.order }.map(\.cookie)
        }
    }

    /// Adds a cookie of the application, such as that of a login in a web view. It replaces the cookie with the same name, domain and path.
    /// A cookie that has expired only removes that one.
    /// - Parameter cookie: The cookie.
    public func insert(_ cookie: Cookie) {
        let now = now()
        state.withLock { Self.store(cookie, now, &$0) }
    }

    /// Removes all cookies.
    public func removeAll() { state.withLock { $0 = State() } }

    /// Stores the cookies that a response sets.
    /// - Parameters:
    ///   - headers: The response's header fields.
    ///   - url: The URL of the response.
    package func store(from headers: HTTPHeaders, url: URL) {
        let now = now(), isSecure = ParsedURL(url).scheme == "https"
        for field in headers.values(for: HeaderName.setCookie) {
            guard let cookie = Cookie(setCookie: field, from: url, now: now) else { continue }
            state.withLock { state in
                // A response over plain HTTP must not replace or hide a secure cookie.
                if !isSecure, state.cookies.values.contains(where: { cookie.overlays($0.cookie) && !$0.cookie.isExpired(now) }) { return }
                Self.store(cookie, now, &state)
            }
        }
    }

    private static func store(_ cookie: Cookie, _ now: Date, _ state: inout State) {
        let key = CookieKey(cookie)
        let known = state.cookies[key]
        if cookie.isExpired(now) {
            state.cookies[key] = nil
            return
        }
        state.next += 1
        state.cookies[key] = (cookie, known?.order ?? state.next)
        guard known == nil else { return }
        let rivals = state.cookies.filter { $0.value.cookie.domain == cookie.domain }
        if rivals.count > most.perDomain {
            removeOldest(of: rivals, now, &state)
        } else if state.cookies.count > most.inAll {
            removeOldest(of: state.cookies, now, &state)
        }
    }

    private static func removeOldest(of cookies: [CookieKey: (cookie: Cookie, order: Int)], _ now: Date, _ state: inout State) {
        func oldest(_ cookies: [CookieKey: (cookie: Cookie, order: Int)]) -> CookieKey? {
            cookies.min { $0.value.order < $1.value.order }?.key
        }
        let expired = cookies.first { $0.value.cookie.isExpired(now) }?.key
        if let victim = expired ?? oldest(cookies.filter { !$0.value.cookie.isSecure }) ?? oldest(cookies) { state.cookies[victim] = nil }
    }

    /// Makes the `Cookie` field for a request: the longest paths first, then the oldest cookies (RFC 6265, 5.4).
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - own: The value of the request's own `Cookie` field, if it has one.
    /// - Returns: The field's value. `nil` if there is no cookie to send.
    package func header(for url: URL, besides callersField: String? = nil) -> String? {
        let now = now()
        let kept = state.withLock { state in state.cookies.values.filter { $0.cookie.applies(to: url, now: now) } }
        let sorted = kept.sorted { ($1.cookie.path.utf8.count, $0.order) < ($0.cookie.path.utf8.count, $1.order) }
        let pairs = (callersField ?? "").utf8.split(separator: UInt8(ascii: ";"))
        let named = Set(pairs.map { Substring($0.prefix { $0 != UInt8(ascii: "=") }).trimmingCharacters(in: .whitespaces) })
        let added = sorted.map(\.cookie).filter { !named.contains($0.name) }.map { "\($0.name)=\($0.value)" }
        let all = (callersField.map { [$0] } ?? []) + added
        return all.isEmpty ? nil : all.joined(separator: "; ")
    }
}

extension CookieJar {
    /// Adds the jar's cookies to a request. This happens above the cache and the sharing of exchanges, because they must not give one user
    /// another user's response.
    func add(to request: inout HTTPRequest, in context: inout CallContext) {
        if request[BypassesCookies.self] { return }
        let cookies = JarCookies()
        request = cookies.set(in: request) { header(for: request.url, besides: $0) }
        context.cookies = cookies
    }
}

extension HTTPRequest {
    /// The request with a single `Cookie` field, as RFC 6265bis, 5.8 requires.
    package var withOneCookieField: HTTPRequest {
        guard headers.values(for: HeaderName.cookie).count > 1 else { return self }
        var request = self
        request.headers[HeaderName.cookie] = headers[HeaderName.cookie]
        return request
    }
}

extension CookieJar {
    /// Makes a jar with the cookies that `write(to:)` has written to a file, without those that have expired since. Reads the file
    /// synchronously, and blocks the thread while it reads.
    /// - Parameter file: The URL of the file. A file that is missing or broken gives an empty jar.
    public convenience init(contentsOf file: URL) { self.init(contentsOf: file, now: { Date() }) }

    package convenience init(contentsOf file: URL, now: @escaping @Sendable () -> Date) {
        self.init(now: now)
        let cookies = (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode([Cookie].self, from: $0) }
        for cookie in cookies ?? [] { insert(cookie) }
    }

    /// Writes the cookies to a file that only this user may read: in one step, so that the file is always complete. Cookies without an
    /// expiry time are left out, because they last as long as the jar (RFC 6265bis, 5.7). The values are in clear text.
    ///
    /// It blocks the thread while it writes. No request does.
    /// - Parameter file: The URL of the file. Its folder must exist.
    /// - Throws: An error of the file system.
    public func write(to file: URL) throws {
        let data = try JSONEncoder().encode(cookies.filter { $0.expires != nil })
        // A new name for each call, so that two at the same moment do not write to one file.
        let part = file.path + ".\(UUID().uuidString)"
        do {
            try OpenFile(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600).write(data, at: 0)
            try OpenFile.rename(part, to: file.path)
        } catch {
            unlink(part)
            throw error
        }
    }
}
