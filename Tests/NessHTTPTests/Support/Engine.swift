import Foundation
import NessHTTP

/// The engine below the managers of this test run.
enum Engine {
    /// True if it is libcurl itself: `NESS_TRANSPORT=curl swift test`.
    static let isCurl = ProcessInfo.processInfo.environment["NESS_TRANSPORT"] == "curl"

    /// True if it is URLSession on Linux, some of whose faults tests describe.
    static let isURLSessionOnLinux: Bool = {
        #if canImport(FoundationNetworking)
        !isCurl
        #else
        false
        #endif
    }()
}
