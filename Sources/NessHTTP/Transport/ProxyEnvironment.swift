import Foundation

/// The proxies that libcurl takes from the environment. On Apple platforms the system sets the proxies, and URLSession hides how it reaches
/// a server.
enum ProxyEnvironment {
    /// Returns true if a request may have to ask a proxy for a tunnel first.
    ///
    /// It may be true without a tunnel, because only libcurl knows whether `no_proxy` names the host, or whether a connection is reused.
    /// The head of the response is then held until the body's first byte or the end.
    static func mayTunnel(to url: URL) -> Bool {
        #if canImport(FoundationNetworking)
        // Requests over http go to the proxy itself, without a tunnel.
        url.scheme == "https" && proxy(for: "https") != nil
        #else
        false
        #endif
    }

    #if canImport(FoundationNetworking)
    /// Returns the value of the proxy variable for an origin. `nil` if no variable is set, or if `no_proxy` lists the host.
    static func proxy(for origin: ParsedURL.Origin) -> String? {
        guard let proxy = proxy(for: origin.scheme) else { return nil }
        return exempts(origin.host.text, in: first(of: ["no_proxy", "NO_PROXY"]) ?? "") ? nil : proxy
    }

    /// Returns true if a list of hosts contains a host, a domain to which it belongs, or a range that contains its address.
    static func exempts(_ host: String, in list: String) -> Bool {
        let edges = Set(".[]".utf8)
        func normalized(_ text: some StringProtocol) -> [UInt8] {
            text.utf8.map(\.asciiLowercased).drop(while: edges.contains).reversed().drop(while: edges.contains).reversed()
        }
        let name = normalized(host), address = IPAddress(String(decoding: name, as: UTF8.self))
        return list.split { $0 == "," || $0 == " " }.contains { text in
            let entry = normalized(text)
            let isDomain = address == nil && name.suffix(entry.count + 1) == [UInt8(ascii: ".")] + entry
            let isInRange = if let address, let range = IPRange(String(text)) { range.contains(address) } else { false }
            return text == "*" || name == entry || isDomain || isInRange
        }
    }

    /// Returns the proxy for a scheme, as the variable has it; `nil` if there is none, or if it is empty.
    static func proxy(for scheme: String) -> String? {
        // `HTTP_PROXY` may come from a request that a CGI program serves (httpoxy).
        let variables = scheme == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        return first(of: variables + ["all_proxy", "ALL_PROXY"])
    }

    /// Returns the first of several variables that is neither missing nor empty.
    private static func first(of variables: [String]) -> String? {
        variables.lazy.compactMap { getenv($0) }.map { String(cString: $0) }.first { !$0.isEmpty }
    }
    #endif
}
