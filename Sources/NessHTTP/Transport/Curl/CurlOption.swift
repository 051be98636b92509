#if os(Linux)
/// An option of libcurl (curl.h) that is set for each transfer, even on a used handle.
///
/// Each version from 7.76 to the newest only stores the value of these options, regardless of the handle's state. It reads `bodyLength`
/// when it copies the body, so the length comes first.
struct CurlOption {
    let number: Int32

    private init(_ number: Int32) { self.number = number }

    static let url = CurlOption(10_002), requestTarget = CurlOption(10_266), headers = CurlOption(10_023)
    static let copiedBody = CurlOption(10_165), bodyLength = CurlOption(30_120), uploadLength = CurlOption(30_115)
    static let method = CurlOption(10_036), isHead = CurlOption(44), isUpload = CurlOption(46)
    static let freshConnection = CurlOption(74), maximumIdleSeconds = CurlOption(288), waitsForMultiplexing = CurlOption(237)
    static let proxyOfRequest = CurlOption(10_004), proxyExceptionsOfRequest = CurlOption(10_177)
    static let connectMilliseconds = CurlOption(156), continueMilliseconds = CurlOption(227), hostEntries = CurlOption(10_203)
}

/// An option of libcurl (curl.h) that is set once, before a handle's first transfer.
///
/// | options | why they are not set on a used handle |
/// | --- | --- |
/// | `bufferSize` | libcurl allocates a buffer of this size. Until 8.6 libcurl rejects it if the handle still has a buffer, which a handle keeps after it has waited for a connection (curl 8.6.0, `lib/setopt.c`). |
/// | `errorBuffer` | libcurl writes to the address until the handle is released (`CURLOPT_ERRORBUFFER`). |
/// | `sessions` | A handle that is part of a share must leave it before the share is released (`curl_share_cleanup`). |
/// | the others | They are the same for all transfers that the handle serves. |
struct CurlLastingOption {
    let number: Int32

    private init(_ number: Int32) { self.number = number }

    static let bufferSize = CurlLastingOption(98), errorBuffer = CurlLastingOption(10_010), sessions = CurlLastingOption(10_100)

    static let noSignals = CurlLastingOption(99), protocols = CurlLastingOption(181), pathAsIs = CurlLastingOption(234)
    static let httpVersion = CurlLastingOption(84), forbidsReuse = CurlLastingOption(75), writesLog = CurlLastingOption(41)
    static let hidesConnectHeads = CurlLastingOption(265), authentication = CurlLastingOption(107)

    // The options of a transport.
    static let tlsVersion = CurlLastingOption(32), proxyTLSVersion = CurlLastingOption(250)
    static let pinnedPublicKeys = CurlLastingOption(10_230)
    static let authorities = CurlLastingOption(40_309), proxyAuthorities = CurlLastingOption(40_310)
    static let authorityFile = CurlLastingOption(10_065), proxyAuthorityFile = CurlLastingOption(10_246)
    static let authorityFolder = CurlLastingOption(10_097), proxyAuthorityFolder = CurlLastingOption(10_247)
    static let certificate = CurlLastingOption(40_291), certificateKey = CurlLastingOption(40_292)
    static let certificateType = CurlLastingOption(10_086), keyPassword = CurlLastingOption(10_026)
    static let proxy = CurlLastingOption(10_004), proxyExceptions = CurlLastingOption(10_177)
    static let proxyUser = CurlLastingOption(10_175), proxyPassword = CurlLastingOption(10_176)
    static let unixSocket = CurlLastingOption(10_231), interface = CurlLastingOption(10_062)
}

/// The options of a multi handle (multi.h).
enum CurlMultiOption {
    /// `CURLMOPT_MAXCONNECTS`
    static let idleConnectionLimit: Int32 = 6
}
#endif
