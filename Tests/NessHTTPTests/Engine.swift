import Foundation
import NessHTTP

/// The engine below the managers of this test run.
enum Engine {
    /// True if it is URLSession on Linux, some of whose faults tests describe. `NESS_TRANSPORT=curl swift test` runs over libcurl itself.
    static let isURLSessionOnLinux: Bool = {
        #if canImport(FoundationNetworking)
        ProcessInfo.processInfo.environment["NESS_TRANSPORT"] != "curl"
        #else
        false
        #endif
    }()
}
