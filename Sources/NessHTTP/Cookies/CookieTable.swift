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

    private struct Entry {
        let cookie: Cookie
        /// The order in which the cookies were first set. No two have the same.
        let order: Int
        /// The order in which the cookies were last set or sent.
        var lastUse: Int
    }

    /// The cookies of each site, in the order in which they were first set. They are at most `siteLimit`, and a search costs less than
    /// hashes of their names, domains and paths.
    private var sites: [ExactText: [Entry]] = [:]
    /// The latest number given as an `order` or a `lastUse`.
    private var next = 0
    private var count = 0

    /// All cookies that have not expired, in the order in which they were first set.
    func cookies(_ now: Date) -> [Cookie] {
        sites.values.joined().filter { !$0.cookie.isExpired(now) }.sorted { $0.order < $1.order }.map(\.cookie)
    }

    /// Returns the cookies for a URL, and registers their use: the longest paths first, then the oldest cookies (RFC 6265bis, 5.8.3).
    mutating func cookies(for url: ParsedURL, _ now: Date) -> [Cookie] {
        if sites.isEmpty { return [] }
        let site = PublicSuffix.site(of: url.host)
        // Taken out, because an array with another owner is copied before it changes.
        guard var entries = sites.removeValue(forKey: site) else { return [] }
        next += 1
        var found: [Cookie] = []
        for index in entries.indices where entries[index].cookie.applies(to: url, now: now) {
            entries[index].lastUse = next
            found.append(entries[index].cookie)
        }
        sites[site] = entries
        // The sort is stable: of two with paths of one length, the older one stays the first.
        return found.sorted { $1.path.utf8.count < $0.path.utf8.count }
    }

    /// Stores the cookies of one response. One from a response over plain HTTP must not replace or hide a secure cookie.
    mutating func insert(_ cookies: [Cookie], overHTTPS isSecure: Bool, _ now: Date) {
        guard !isSecure, let first = cookies.first, let present = sites[PublicSuffix.site(of: first.domain)] else {
            return insert(cookies, now)
        }
        // All belong to the site of the response's host, and such a response adds no secure cookie.
        let secure = present.map(\.cookie).filter { $0.isSecure && !$0.isExpired(now) }
        insert(cookies.filter { cookie in !secure.contains(where: cookie.overlays) }, now)
    }

    /// Stores cookies. One that has expired only removes the cookie with the same name, domain and path.
    mutating func insert(_ cookies: [Cookie], _ now: Date) {
        var changed: Set<ExactText> = []
        for cookie in cookies {
            let site = PublicSuffix.site(of: cookie.domain)
            // Taken out, because an array with another owner is copied before it changes.
            var entries = sites.removeValue(forKey: site) ?? []
            next += 1
            if let index = entries.firstIndex(where: { cookie.replaces($0.cookie) }) {
                if cookie.isExpired(now) {
                    entries.remove(at: index)
                    count -= 1
                } else {
                    entries[index] = Entry(cookie: cookie, order: entries[index].order, lastUse: next)
                }
            } else if !cookie.isExpired(now) {
                entries.append(Entry(cookie: cookie, order: next, lastUse: next))
                count += 1
                changed.insert(site)
            }
            sites[site] = entries.isEmpty ? nil : entries
            // A response with many cookies shall not make each of them search through all.
            if entries.count >= 2 * Self.siteLimit { reduce([site], most: Self.siteLimit, remaining: Self.siteLimit, now) }
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
        let entries = names.flatMap { sites[$0] ?? [] }
        guard entries.count > most else { return }
        let candidates =
            entries
            .map { (order: $0.order, rank: $0.cookie.isExpired(now) ? 0 : $0.cookie.isSecure ? 2 : 1, lastUse: $0.lastUse) }
            .sorted { ($0.rank, $0.lastUse) < ($1.rank, $1.lastUse) }
        // A cookie is removed below the limit only if its group had to be touched to reach the limit.
        let last = candidates[candidates.count - most - 1].rank
        let removed = Set(candidates.prefix(candidates.count - remaining).prefix { $0.rank <= last }.map(\.order))
        for name in Array(names) {
            sites[name]?.removeAll { removed.contains($0.order) }
            if sites[name]?.isEmpty == true { sites[name] = nil }
        }
        count -= removed.count
    }
}
