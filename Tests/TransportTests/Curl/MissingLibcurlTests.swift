#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP

@Suite struct MissingLibcurlTests {
    @Test(
        "without a usable libcurl a request fails with the version found, the version required and the line for URLSession",
        arguments: [(0x07_4C_01 as UInt32, "libcurl 7.76.1"), (0, "no usable libcurl")])
    func missing(version: UInt32, found: String) async throws {
        let ness = Ness { $0.transport = MissingLibcurl(version: version) }
        let error = await #expect(throws: NessError.self) { try await ness.httpRequest(withUrl: "http://127.0.0.1/").dataRequest().value }
        #expect(error?.kind == .invalidRequest && error?.isTransient == false)
        for part in [found, "libcurl 7.76", "$0.transport = URLSessionTransport()"] { #expect("\(try #require(error))".contains(part)) }
    }
}
#endif
