#if os(Linux)
import CNessCurl

/// The libcurl of this process. It is looked up once, at the first use.
///
/// The table lists the faults of versions and what the transport does about each. Parentheses name the versions that the tests ran with.
///
/// | before | fault | the transport |
/// | --- | --- | --- |
/// | 7.76 | not tried | is not used: every request fails with the version found (`MissingLibcurl`) |
/// | 7.77 | takes no authorities as bytes | passes a file in memory (7.76) |
/// | 7.80 | does not call back before it sends on a reused connection | opens a new connection for each request, and never a second one for the same request (7.76) |
/// | 7.87 | OpenSSL's writes end the process with SIGPIPE | blocks the signal in its threads (not tried) |
/// | 7.87 | a dropped look-up of a name blocks all transfers | looks names up itself, with every version (7.88, 8.23) |
/// | 8.1 | a handle keeps a pointer to the last header line of the transfer before: a header that begins with a folded line ends the process | uses no handle twice (7.76, 7.88) |
/// | 8.5 | a request over HTTP/2 or HTTP/1.1 receives the response to another one | never uses HTTP/2 (7.88) |
/// | 8.7 | rejects the size of the receive buffer for a handle that has waited for a connection | sets it before the handle's first transfer (8.5, 8.6) |
/// | 8.12 | each handle caches TLS sessions separately | shares one cache, with every version (7.88, 8.23) |
/// | – | looks for dead connections once a second only (from 8.13 on) | checks the socket before each send, with every version (8.14, 8.23) |
/// | 8.17 | loses buffered bytes if the transfer is paused again while libcurl delivers them (from 8.13 on) | does not pause meanwhile (8.16) |
/// | 8.19 | does not report whether a look-up is for a proxy (from 8.7 on) | looks the proxy's name up first, then the host's (8.12, 8.16) |
/// | 8.19 | reports a stream that the server rejected as a lost connection, if the connection was reused | reports that the server may have acted (not tried) |
struct CurlLibrary: Sendable {
    /// The version as 0xMMmmpp.
    let version: UInt32
    /// The version of libcurl and of its TLS library, as libcurl's text.
    let description: String
    /// True if libcurl was built with HTTP/2, and never confuses the responses of two requests.
    let speaksHTTP2: Bool

    /// True for a libcurl that calls back before it sends a request. Without this callback, no connection is used twice.
    var keepsConnections: Bool { version >= 0x07_50_00 }

    /// True for a libcurl whose handles may serve one transfer after another.
    var keepsHandles: Bool { version >= 0x08_01_00 }

    /// True for a libcurl that takes the certificates of authorities as bytes.
    var takesAuthorities: Bool { version >= 0x07_4D_00 }

    /// True for a libcurl that does not report whether a look-up is for a proxy.
    var tellsProxyLate: Bool { (0x08_07_00..<0x08_13_00).contains(version) }

    /// The version of the libcurl in this process as 0xMMmmpp; 0 if there is no libcurl, or if it lacks a function.
    static let foundVersion = ness_curl_load()

    /// The library. `nil` if the process has none, or one before 7.76.
    static let shared: CurlLibrary? = {
        let version = foundVersion
        guard version >= 0x07_4C_00, let text = ness_curl_version() else { return nil }
        return CurlLibrary(version: version, features: ness_curl_features(), description: String(cString: text))
    }()

    /// True while a thread of a transport is inside libcurl: an exit of the process waits for it, at most a second. Only tests read it.
    static var isInUse: Bool { ness_curl_is_in_use() }

    /// Describes a library.
    /// - Parameters:
    ///   - version: The version as 0xMMmmpp.
    ///   - features: The bits `CURL_VERSION_*` of what the library was built with.
    ///   - description: libcurl's text.
    init(version: UInt32, features: Int32, description: String) {
        self.version = version
        self.description = description
        // CURL_VERSION_HTTP2
        speaksHTTP2 = version >= 0x08_05_00 && features & (1 << 16) != 0
    }
}

/// The numbers of libcurl's measurements (curl.h).
enum CurlInfo {
    static let lookedUp: Int32 = 0x600000 + 51, connected: Int32 = 0x600000 + 52, readyToSend: Int32 = 0x600000 + 53
    static let firstByte: Int32 = 0x600000 + 54, secured: Int32 = 0x600000 + 56, sentBodyBytes: Int32 = 0x600000 + 7
    static let newConnections: Int32 = 0x200000 + 26, httpVersion: Int32 = 0x200000 + 46
    static let remoteAddress: Int32 = 0x100000 + 32, remotePort: Int32 = 0x200000 + 40
    static let localAddress: Int32 = 0x100000 + 41, localPort: Int32 = 0x200000 + 42
    static let connectionNumber: Int32 = 0x600000 + 64, usesProxy: Int32 = 0x200000 + 66
}
#endif
