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
    #endif
}
