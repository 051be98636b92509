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
/// If a request sets `Cookie` itself, its cookies are sent first, followed by the jar's. If names are equal, only the request's cookie is
/// sent.
///
/// The jar rejects a cookie for all hosts below a public suffix, such as `co.uk`. It knows only a short list of them. Give hosts that do
/// not trust each other separate jars.
///
/// **Limits.** The jar keeps up to 180 cookies of a site, which is a public suffix and a label before it, and up to 3,300 in all. When
/// there are more, it removes expired cookies first, then cookies without `Secure`, then the others. In each group it removes the cookie
/// first that was set or sent the longest time ago.
public final class CookieJar: Sendable {
    private let table = Lock(CookieTable())
    private let now: @Sendable () -> Date

    /// Makes an empty jar.
    public convenience init() { self.init(now: { Date() }) }

    package init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// The cookies that have not expired, in the order in which they were set.
    public var cookies: [Cookie] {
        let now = now()
        return table.withLock { $0.cookies(now) }
    }

    /// Adds a cookie of the application, such as one from a login in a web view. It replaces the cookie with the same name, domain and
    /// path. An expired cookie only removes the old one.
    /// - Parameter cookie: The cookie.
    public func insert(_ cookie: Cookie) {
        let now = now()
        table.withLock { $0.insert([cookie], now) }
    }

    /// Removes all cookies.
    public func removeAll() { table.withLock { $0 = CookieTable() } }

    /// Stores the cookies that a response sets.
    /// - Parameters:
    ///   - headers: The response's header fields.
    ///   - url: The URL of the response.
    @inline(never)
    package func store(from headers: HTTPHeaders, url: URL) {
        let fields = headers.values(for: HeaderName.setCookie)
        if fields.isEmpty { return }
        let now = now(), isSecure = ParsedURL(url).scheme == "https"
        let cookies = fields.compactMap { Cookie(setCookie: $0, from: url, now: now) }
        table.withLock { $0.insert(cookies, overHTTPS: isSecure, now) }
    }

    /// Makes the `Cookie` field for a request: the longest paths first, then the oldest cookies (RFC 6265, 5.4).
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - callersField: The value of the `Cookie` field that the request has set itself, if it has one.
    /// - Returns: The field's value. `nil` if there is no cookie to send.
    package func header(for url: URL, besides callersField: String? = nil) -> String? {
        let now = now()
        let cookies = table.withLock { $0.cookies(for: ParsedURL(url), now) }
        guard !cookies.isEmpty else { return callersField }
        let pairs = (callersField ?? "").utf8.split(separator: UInt8(ascii: ";"))
        let named = Set(pairs.map { ExactText(HeaderFieldValue.trimmed(String(Substring($0.prefix { $0 != UInt8(ascii: "=") })))) })
        let added = cookies.filter { !named.contains(ExactText($0.name)) }.map { "\($0.name)=\($0.value)" }
        return ((callersField.map { [$0] } ?? []) + added).joined(separator: "; ")
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
        let time = self.now()
        table.withLock { $0.insert(cookies ?? [], time) }
    }

    /// Writes the cookies to a file that only this user may read: in one step, so that the file is always complete. Cookies without an
    /// expiry time are left out, because they last as long as the jar (RFC 6265bis, 5.7). The values are in clear text.
    ///
    /// This method blocks the thread while it writes. Requests never write the file.
    /// - Parameter file: The URL of the file. Its folder must exist.
    /// - Throws: An error of the file system.
    public func write(to file: URL) throws {
        let data = try JSONEncoder().encode(cookies.filter { $0.expires != nil })
        removeLeftovers(of: file)
        // A new name for each call, so that two at the same moment do not write to one file.
        try OpenFile.replace(file.path, by: data, through: file.path + ".\(UUID().uuidString)")
    }

    /// Removes the files that killed processes left behind in the middle of a write.
    private func removeLeftovers(of file: URL) {
        let folder = file.deletingLastPathComponent(), start = file.lastPathComponent + "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] where name.startsExactly(with: start) {
            guard UUID(uuidString: String(name.utf8.dropFirst(start.utf8.count)) ?? "") != nil else { continue }
            OpenFile.removeLeftover(folder.appendingPathComponent(name, isDirectory: false).path)
        }
    }
}
