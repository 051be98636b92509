import Foundation

/// The transport of a manager whose configuration sets none.
package enum DefaultTransport {
    /// Makes the transport: a `CurlTransport` on Linux, a `URLSessionTransport` on Apple platforms.
    ///
    /// On Linux the environment variable `NESS_TRANSPORT` chooses URLSession with the value `urlsession`. The tests run over both with it.
    static func make() -> any Transport {
        #if os(Linux)
        if name == "urlsession" { return URLSessionTransport() }
        do { return try CurlTransport() } catch { return MissingLibcurl() }
        #else
        return URLSessionTransport()
        #endif
    }

    /// Makes a transport like `make()` for requests to 127.0.0.1. Over libcurl it uses no proxy, regardless of the environment.
    package static func makeForLoopback() -> any Transport {
        #if os(Linux)
        if name != "urlsession", let transport = try? CurlTransport({ $0.proxy = .direct }) { return transport }
        #endif
        return make()
    }

    private static let name = ProcessInfo.processInfo.environment["NESS_TRANSPORT"]
}

#if os(Linux)
/// Rejects every request, because the process has no libcurl that is safe to use.
///
/// It does not fall back to URLSession: on Linux URLSession ends the process for some malformed responses. The caller has to accept that
/// risk explicitly.
struct MissingLibcurl: Transport, CustomStringConvertible {
    /// The version of the libcurl that was found, as 0xMMmmpp; 0 for none.
    var version = CurlLibrary.foundVersion

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        throw TransportError(.invalidRequest, description)
    }

    /// The version that was found, the one that is needed, and the line that chooses URLSession.
    var description: String {
        let found = version == 0 ? "no usable libcurl" : "libcurl \(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
        return "Ness requires libcurl 7.76 or later, and this process has \(found). Update libcurl, or choose URLSession with its limits: "
            + "`Ness { $0.transport = URLSessionTransport() }`"
    }
}
#endif
