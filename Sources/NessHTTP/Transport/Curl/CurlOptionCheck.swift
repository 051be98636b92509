#if os(Linux)
import Foundation

/// Checks the values of a transport's options. libcurl would notice most faults only when it opens a connection.
enum CurlOptionCheck {
    typealias OptionError = CurlTransport.OptionError

    /// Returns a string that libcurl can take.
    private static func text(_ text: String, _ option: String) throws -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else { throw OptionError(option: option, reason: "it is empty or contains a NUL") }
        return text
    }

    /// Separates the credentials of a proxy from its address, so that no message of libcurl can contain them.
    static func proxy(
        _ url: URL, _ username: String?, _ password: String?
    ) throws -> (address: String, username: String?, password: String?) {
        let ports = ["http": 80, "https": 443, "socks5": 1080, "socks5h": 1080]
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let scheme = parts.scheme?.lowercased(),
            let port = ports[scheme], let host = parts.percentEncodedHost, !host.isEmpty
        else { throw OptionError(option: "proxy", reason: "its URL needs a host, and the scheme http, https, socks5 or socks5h") }
        let credentials = (username ?? parts.user, password ?? parts.password)
        for text in [credentials.0, credentials.1] where text?.utf8.contains(0) == true {
            throw OptionError(option: "proxy", reason: "its credentials contain a NUL")
        }
        return ("\(scheme)://\(host):\(parts.port ?? port)", credentials.0, credentials.1)
    }

    /// Checks the path of a unix socket, which the system limits (`sun_path`).
    static func unixSocket(_ path: String) throws -> String {
        guard path.utf8.count <= 107 else { throw OptionError(option: "unixSocketPath", reason: "it is longer than 107 bytes") }
        return try text(path, "unixSocketPath")
    }

    /// Formats a local address or the name of an interface for libcurl, which would otherwise look an unknown name up and block its thread.
    static func interface(_ name: String) throws -> String {
        let name = try text(name, "localInterface")
        return IPAddress(name) != nil ? "host!\(name)" : "if!\(name)"
    }

    /// Formats an entry for libcurl.
    static func hostEntry(_ entry: CurlTransport.HostEntry) throws -> String {
        let isName = entry.host.utf8.allSatisfy { $0 > 32 && $0 < 127 && !":,+*[]".utf8.contains($0) } && !entry.host.isEmpty
        guard isName, !entry.host.hasPrefix("-"), (0...65_535).contains(entry.port), !entry.addresses.isEmpty else {
            throw OptionError(option: "hostEntries", reason: "an entry has no host name, no valid port or no address")
        }
        for address in entry.addresses where IPAddress(address) == nil {
            throw OptionError(option: "hostEntries", reason: "\(address) is not an IP address")
        }
        return "\(entry.host):\(entry.port):\(IPAddress.list(entry.addresses))"
    }
}
#endif
