#if canImport(UIKit) || canImport(AppKit)
import Foundation

#if canImport(UIKit)
import UIKit
#else
import AppKit
#endif

/// Decodes an image: `try result.message.parseBody(using: ImageDecoder())`.
///
/// On macOS the image is an `NSImage`, which is not `Sendable`. Decode the response on the main actor, where the image is shown. Decoding
/// is cheap there: the bitmap is made when the image is first drawn.
public struct ImageDecoder: ResponseDecoder {
    #if canImport(UIKit)
    /// The number of pixels for each point.
    public var scale: CGFloat

    /// Makes a decoder.
    /// - Parameter scale: The number of pixels for each point.
    public init(scale: CGFloat = 1) { self.scale = scale }

    /// Decodes the first image of the body.
    /// - Throws: `DecodingError` if the body is not an image.
    public func decode(from data: Data) throws -> UIImage { try checked(UIImage(data: data, scale: scale)) }
    #else
    /// Makes a decoder.
    public init() {}

    /// Decodes the image.
    /// - Throws: `DecodingError` if the body is not an image.
    public func decode(from data: Data) throws -> NSImage { try checked(NSImage(data: data)) }
    #endif

    private func checked<Image>(_ image: Image?) throws -> Image {
        guard let image else { throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "the body is not an image")) }
        return image
    }
}
#endif
