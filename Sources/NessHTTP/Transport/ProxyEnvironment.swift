import Foundation

/// The proxies that libcurl takes from the environment. On Apple platforms the system sets the proxies, and URLSession hides how it reaches
/// a server.
enum ProxyEnvironment {
    /// Returns true if a request may have to ask a proxy for a tunnel first.
    ///
    /// Only libcurl knows whether `no_proxy` names the host, or whether a connection is reused. Without a tunnel, the head of a response is
    /// then held until its first byte or its end.
    static func mayTunnel(to url: URL) -> Bool {
        #if canImport(FoundationNetworking)
        // Requests over http go to the proxy itself, without a tunnel.
        url.scheme == "https" && proxy(for: "https") != nil
        #else
        false
        #endif
    }

    #if canImport(FoundationNetworking)
    /// Returns the proxy for a scheme, as the variable has it; `nil` if there is none, or if it is empty.
    static func proxy(for scheme: String) -> String? {
        // `HTTP_PROXY` may come from a request that a CGI program serves (httpoxy).
        let variables = scheme == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        return (variables + ["all_proxy", "ALL_PROXY"]).lazy.compactMap { getenv($0) }.map { String(cString: $0) }.first { !$0.isEmpty }
    }

    /// Reads the host and the port of a proxy, which may have no scheme, and no port.
    static func hostAndPort(of proxy: String) -> (host: String, port: Int) {
        let scheme = proxy.range(of: "://").map { proxy[..<$0.lowerBound].lowercased() }
        var rest = proxy.range(of: "://").map { proxy[$0.upperBound...] } ?? proxy[...]
        rest = rest.prefix { $0 != "/" }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        // libcurl's default ports.
        let defaultPort = scheme == "https" ? 443 : 1080
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            let port = rest[end...].split(separator: ":").last.flatMap { Int($0) }
            return (String(rest[...end]), port ?? defaultPort)
        }
        let parts = rest.split(separator: ":", maxSplits: 1)
        return (parts.first?.lowercased() ?? "", parts.dropFirst().first.flatMap { Int($0) } ?? defaultPort)
    }
    #endif
}
