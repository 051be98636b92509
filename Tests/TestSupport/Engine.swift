import Foundation
import NessHTTP

/// The engine below the managers of this test run.
package enum Engine {
    /// True if the engine is libcurl itself: on Linux, unless the tests run with `NESS_TRANSPORT=urlsession`.
    package static let isCurl: Bool = {
        #if canImport(FoundationNetworking)
        ProcessInfo.processInfo.environment["NESS_TRANSPORT"] != "urlsession" && CurlTransport.libraryVersion != nil
        #else
        false
        #endif
    }()

    /// True if the engine is URLSession on Linux, some of whose faults tests describe.
    package static let isURLSessionOnLinux: Bool = {
        #if canImport(FoundationNetworking)
        !isCurl
        #else
        false
        #endif
    }()
}
