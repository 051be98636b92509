import Foundation

/// The transport of a manager whose configuration sets none.
enum DefaultTransport {
    /// Makes a `CurlTransport` on Linux if the process has libcurl 7.80 or newer. Otherwise makes a `URLSessionTransport`.
    ///
    /// On Linux the environment variable `NESS_TRANSPORT` chooses URLSession with the value `urlsession`. The tests run over both with it.
    static func make() -> any Transport {
        #if canImport(CNessCurl)
        if name != "urlsession", let transport = CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }

    private static let name = ProcessInfo.processInfo.environment["NESS_TRANSPORT"]
}
