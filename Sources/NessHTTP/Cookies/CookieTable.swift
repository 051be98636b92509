import Foundation

/// The cookies of a jar, by their sites (see `PublicSuffix.site(of:)`), and the limits of their number.
///
/// A request and a response concern the cookies of one site only. Limits apply once after each change, so a change of many cookies sorts
/// each site once.
struct CookieTable: Sendable {
    /// The most cookies of a site.
    static let siteLimit = 180
    /// The most cookies of all sites, and the number to which they are then reduced. The gap avoids a search of all cookies for each
    /// further one.
    static let limit = (most: 3_300, remaining: 3_000)

    private struct Key: Hashable {
        let name: ExactText
        let domain: ExactText
        let path: ExactText
        let isHostOnly: Bool

        init(_ cookie: Cookie) {
            (name, domain, path) = (ExactText(cookie.name), ExactText(cookie.domain), ExactText(cookie.path))
            isHostOnly = cookie.isHostOnly
        }
    }

    private struct Entry {
        let cookie: Cookie
        /// The order in which the cookies were first set.
        let order: Int
        /// The order in which the cookies were last set or sent.
        var lastUse: Int
    }

    private var sites: [ExactText: [Key: Entry]] = [:]
    /// The latest number given as an `order` or a `lastUse`.
    private var next = 0
    private(set) var count = 0

    /// All cookies that have not expired, in the order in which they were first set.
    func cookies(_ now: Date) -> [Cookie] {
        sites.values.joined().map(\.value).filter { !$0.cookie.isExpired(now) }.sorted { $0.order < $1.order }.map(\.cookie)
    }

    /// Returns the cookies for a URL, and registers their use: the longest paths first, then the oldest cookies (RFC 6265bis, 5.8.3).
    mutating func cookies(for url: ParsedURL, _ now: Date) -> [Cookie] {
        if sites.isEmpty { return [] }
        let site = PublicSuffix.site(of: url.host)
        guard let present = sites[site] else { return [] }
        let found = present.filter { $0.value.cookie.applies(to: url, now: now) }
        next += 1
        for key in found.keys { sites[site]?[key]?.lastUse = next }
        return found.values.sorted { ($1.cookie.path.utf8.count, $0.order) < ($0.cookie.path.utf8.count, $1.order) }.map(\.cookie)
    }

    /// Stores the cookies of one response. One from a response over plain HTTP must not replace or hide a secure cookie.
    mutating func insert(_ cookies: [Cookie], overHTTPS isSecure: Bool, _ now: Date) {
        guard !isSecure, let first = cookies.first, let present = sites[PublicSuffix.site(of: first.domain)] else {
            return insert(cookies, now)
        }
        // All belong to the site of the response's host, and such a response adds no secure cookie.
        let kept = present.values.map(\.cookie).filter { $0.isSecure && !$0.isExpired(now) }
        let secure = Dictionary(grouping: kept) { ExactText($0.name) }
        insert(cookies.filter { cookie in secure[ExactText(cookie.name)]?.contains(where: cookie.overlays) != true }, now)
    }

    /// Stores cookies. One that has expired only removes the cookie with the same name, domain and path.
    mutating func insert(_ cookies: [Cookie], _ now: Date) {
        var changed: Set<ExactText> = []
        for cookie in cookies {
            let site = PublicSuffix.site(of: cookie.domain), key = Key(cookie)
            let known = sites[site]?[key]
            guard !cookie.isExpired(now) else {
                if known != nil { remove([(site, key)]) }
                continue
            }
            next += 1
            sites[site, default: [:]][key] = Entry(cookie: cookie, order: known?.order ?? next, lastUse: next)
            guard known == nil else { continue }
            count += 1
            changed.insert(site)
        }
        for site in changed { reduce([site], most: Self.siteLimit, remaining: Self.siteLimit, now) }
        if count > Self.limit.most { reduce(sites.keys, most: Self.limit.most, remaining: Self.limit.remaining, now) }
    }

    /// Removes cookies beyond a limit: expired ones, then those that are sent over plain HTTP as well, then the others. In each group the
    /// one that was not used for the longest time goes first (RFC 6265bis, 5.7).
    ///
    /// In the RFC, secure cookies go last only if a domain's limit is exceeded. Here they always do, so no number of responses over plain
    /// HTTP removes a secure cookie of any site.
    private mutating func reduce(_ names: some Collection<ExactText>, most: Int, remaining: Int, _ now: Date) {
        let total = names.reduce(0) { $0 + (sites[$1]?.count ?? 0) }
        guard total > most else { return }
        typealias Candidate = (site: ExactText, key: Key, rank: Int, lastUse: Int)
        let candidates = names.flatMap { site in
            (sites[site] ?? [:]).map { key, entry -> Candidate in
                (site, key, entry.cookie.isExpired(now) ? 0 : entry.cookie.isSecure ? 2 : 1, entry.lastUse)
            }
        }.sorted { ($0.rank, $0.lastUse) < ($1.rank, $1.lastUse) }
        // A cookie is removed below the limit only if its group had to be touched to reach the limit.
        let last = candidates[total - most - 1].rank
        remove(candidates.prefix(total - remaining).prefix { $0.rank <= last }.map { ($0.site, $0.key) })
    }

    private mutating func remove(_ cookies: [(site: ExactText, key: Key)]) {
        for (site, key) in cookies {
            sites[site]?[key] = nil
            count -= 1
            if sites[site]?.isEmpty == true { sites[site] = nil }
        }
    }
}
