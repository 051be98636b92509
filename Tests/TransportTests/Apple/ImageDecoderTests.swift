#if canImport(UIKit) || canImport(AppKit)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

/// Responses as images, on Apple platforms only.
@Suite(.inTurn(.withoutSockets)) struct ImageDecoderTests {
    /// A GIF of one pixel.
    private static let pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

    @Test("a body is decoded as an image; any other body is an error")
    func image() async throws {
        let gif = try #require(Data(base64Encoded: Self.pixel))
        let rig = Rig()
        rig.mock.on(.get, "/good") { _ in .data(gif, contentType: "image/gif") }
        rig.mock.on(.get, "/bad") { _ in .text("no image") }
        let message = try await rig.ness.httpRequest(withUrl: "good").dataRequest().value.message
        #if canImport(UIKit)
        #expect(try message.parseBody(using: ImageDecoder(scale: 2)).scale == 2)
        #else
        #expect(try message.parseBody(using: ImageDecoder()).size.width > 0)
        #endif
        let bad = try await rig.ness.httpRequest(withUrl: "bad").dataRequest().value.message
        let error = #expect(throws: NessError.self) { try bad.parseBody(using: ImageDecoder()) }
        #expect(error?.underlying is DecodingError)
    }
}
#endif
