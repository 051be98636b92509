#if os(Linux)
import Foundation

/// The host names whose addresses libcurl needs for a transfer, one after another: the proxy's, and the URL's.
///
/// libcurl announces a look-up, but not the name. Ness rejects the look-up, which ends the transfer. The transfer is then started again
/// with the addresses that `NameResolver` has found.
struct CurlNames {
    /// A name with the port for which libcurl remembers its addresses.
    struct Name: Hashable, Sendable, CustomStringConvertible {
        /// The host; an address of IPv6 has no brackets.
        let host: String
        let port: Int

        init(host: String, port: Int) {
            self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
            self.port = port
        }

        /// Reads a proxy, which may have no scheme, and no port.
        init(ofProxy proxy: String) {
            let parts = proxy.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
            var rest = parts[parts.count - 1]
            // Credentials are removed first, because the name must not contain a part of a password.
            if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
            rest = rest.prefix { $0 != "/" }
            // An address in brackets contains colons. The one before the port follows the brackets.
            let end = rest.hasPrefix("[") ? rest.firstIndex(of: "]") : nil
            let colon = rest[(end ?? rest.startIndex)...].firstIndex(of: ":")
            // libcurl's default ports.
            let defaultPort = parts.count == 2 && parts[0].lowercased() == "https" ? 443 : 1080
            self.init(
                host: rest[..<(colon ?? rest.endIndex)].lowercased(), port: colon.flatMap { Int(rest[$0...].dropFirst()) } ?? defaultPort)
        }

        /// The host and the port, as in a URL.
        var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

        /// The addresses that need no look-up: of an address itself, and of this machine (RFC 6761, 6.3).
        var knownAddresses: [String]? {
            if IPAddress(host) != nil { return [host] }
            return host == "localhost" || host.hasSuffix(".localhost") ? ["127.0.0.1", "::1"] : nil
        }
    }

    /// True if libcurl has ended the transfer because it needs a name.
    private(set) var isNeeded = false
    /// The time that look-ups have taken.
    private(set) var duration = Duration.zero
    /// The look-up in progress.
    var lookUp: (ticket: NameResolver.Ticket, start: ContinuousClock.Instant)? {
        didSet { if lookUp == nil, let oldValue { duration += .now - oldValue.start } }
    }
    /// The names that have been looked up.
    private var taken: [Name] = []
    /// True if libcurl may look names up itself, because all candidates have been tried, or because it cannot take the addresses.
    private var isPermitted = false

    /// Returns true if libcurl may look a name up.
    /// - Parameter isKnown: Returns true if the name can only be one that needs no look-up.
    mutating func mayLookUp(_ isKnown: () -> Bool) -> Bool {
        isNeeded = !isPermitted && !isKnown()
        return !isNeeded
    }

    /// Returns the name to look up now. `nil` if no candidate remains: libcurl then looks the name up itself.
    mutating func take(_ candidates: [Name?]) -> Name? {
        isNeeded = false
        let name = candidates.lazy.compactMap { $0 }.first { !taken.contains($0) }
        if let name { taken.append(name) } else { isPermitted = true }
        return name
    }

    /// Formats addresses for libcurl, which forgets them after a minute. `nil` if it cannot take them, and has to look the name up itself.
    mutating func lines(_ addresses: [String], of name: Name) -> String? {
        // libcurl reads no zone, as in `fe80::1%eth0`, and no name with a colon.
        let addresses = IPAddress.list(addresses.filter { !$0.contains("%") })
        isPermitted = addresses.isEmpty || name.host.contains(":")
        if isPermitted { return nil }
        // Some versions of libcurl remove a trailing dot before they look into their cache.
        let hosts = Set([name.host, name.host.hasSuffix(".") ? String(name.host.dropLast()) : name.host])
        return hosts.map { "+\($0):\(name.port):\(addresses)\0" }.joined()
    }
}
#endif
