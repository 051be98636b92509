import Foundation

/// The cookies of a jar, by their sites (see `PublicSuffix.site(of:)`), and the limits of their number.
///
/// A request and a response concern the cookies of one site only.
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

        /// The groups of cookies, in the order in which they are removed beyond a limit. A plain cookie is sent over plain HTTP as well.
        enum Group: Comparable { case expired, plain, secure }

        func group(_ now: Date) -> Group { cookie.isExpired(now) ? .expired : cookie.isSecure ? .secure : .plain }

        /// True if this cookie is removed before another one. In each group the cookie that was not used for the longest time goes first
        /// (RFC 6265bis, 5.7).
        ///
        /// In the RFC, secure cookies go last only if a domain's limit is exceeded. Here they always do, so no number of responses over
        /// plain HTTP removes a secure cookie of any site.
        func isRemoved(before other: Entry, _ now: Date) -> Bool { (group(now), lastUse) < (other.group(now), other.lastUse) }
    }

    /// The cookies of each site, in the order in which they were first set. They are at most `siteLimit`, and a search costs less than
    /// hashes of their names, domains and paths.
    private var sites: [ExactText: [Entry]] = [:]
    /// The latest number given as an `order` or a `lastUse`.
    private var next = 0
    /// The number of cookies of all sites, expired ones included.
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

    /// Stores cookies. One that has expired only removes the cookie with the same name, domain and path. At the limit of its site, a new
    /// cookie displaces one.
    mutating func insert(_ cookies: [Cookie], _ now: Date) {
        for cookie in cookies {
            let site = PublicSuffix.site(of: cookie.domain)
            // Taken out, because an array with another owner is copied before it changes.
            var entries = sites.removeValue(forKey: site) ?? []
            count -= entries.count
            next += 1
            if let index = entries.firstIndex(where: { cookie.replaces($0.cookie) }) {
                if cookie.isExpired(now) {
                    entries.remove(at: index)
                } else {
                    entries[index] = Entry(cookie: cookie, order: entries[index].order, lastUse: next)
                }
            } else if !cookie.isExpired(now) {
                entries.append(Entry(cookie: cookie, order: next, lastUse: next))
            }
            if entries.count > Self.siteLimit, let first = entries.indices.min(by: { entries[$0].isRemoved(before: entries[$1], now) }) {
                entries.remove(at: first)
            }
            count += entries.count
            sites[site] = entries.isEmpty ? nil : entries
        }
        if count > Self.limit.most { reduce(now) }
    }

    /// Removes cookies of all sites beyond the limit. A cookie is removed below the limit only if its group had to be touched to reach the
    /// limit.
    private mutating func reduce(_ now: Date) {
        let candidates = sites.values.joined().sorted { $0.isRemoved(before: $1, now) }
        let last = candidates[candidates.count - Self.limit.most - 1].group(now)
        let surplus = candidates.prefix(candidates.count - Self.limit.remaining)
        let removed = Set(surplus.prefix { $0.group(now) <= last }.map(\.order))
        var kept: [ExactText: [Entry]] = [:]
        for (site, entries) in sites {
            for entry in entries where !removed.contains(entry.order) { kept[site, default: []].append(entry) }
        }
        sites = kept
        count -= removed.count
    }
}
