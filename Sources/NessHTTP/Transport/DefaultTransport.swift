import Foundation

/// The transport of a manager whose configuration sets none.
enum DefaultTransport {
    /// Makes a `URLSessionTransport`. On Linux the environment variable `NESS_TRANSPORT` can choose another transport: `curl` or
    /// `urlsession`.
    static func make() -> any Transport {
        #if canImport(CNessCurl)
        if name == "curl", let transport = CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }

    private static let name = ProcessInfo.processInfo.environment["NESS_TRANSPORT"]
}
