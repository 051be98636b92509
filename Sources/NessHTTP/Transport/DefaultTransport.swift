import Foundation

/// The transport of a manager that is given none.
enum DefaultTransport {
    /// Makes a `URLSessionTransport`, or on Linux what the environment variable `NESS_TRANSPORT` names: `curl` or `urlsession`.
    static func make() -> any Transport {
        #if canImport(CNessCurl)
        if name == "curl", let transport = CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }

    private static let name = ProcessInfo.processInfo.environment["NESS_TRANSPORT"]
}
