import Foundation

/// The transport of a manager whose configuration sets none.
package enum DefaultTransport {
    /// Makes a `CurlTransport` on Linux if the process has libcurl 7.80 or newer. Otherwise makes a `URLSessionTransport`.
    ///
    /// On Linux the environment variable `NESS_TRANSPORT` chooses URLSession with the value `urlsession`. The tests run over both with it.
    static func make() -> any Transport {
        #if canImport(CNessCurl)
        if name != "urlsession", let transport = CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }

    /// Makes a transport like `make()` for requests to 127.0.0.1. Over libcurl it uses no proxy, whatever the environment says.
    package static func makeForLoopback() -> any Transport {
        #if canImport(CNessCurl)
        if name != "urlsession", let transport = try? CurlTransport({ $0.proxy = .direct }) { return transport }
        #endif
        return URLSessionTransport()
    }

    private static let name = ProcessInfo.processInfo.environment["NESS_TRANSPORT"]
}
