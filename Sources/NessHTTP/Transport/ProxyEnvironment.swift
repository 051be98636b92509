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
        url.scheme == "https" && names.contains { getenv($0).map { $0.pointee != 0 } ?? false }
        #else
        false
        #endif
    }

    #if canImport(FoundationNetworking)
    private static let names = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    #endif
}
