#if canImport(UIKit)
import Foundation
import UIKit

/// Decodes an image: `try result.message.parseBody(using: ImageDecoder())`.
public struct ImageDecoder: ResponseDecoder {
    /// The number of pixels for each point.
    public var scale: CGFloat

    /// Makes a decoder.
    /// - Parameter scale: The number of pixels for each point.
    public init(scale: CGFloat = 1) { self.scale = scale }

    /// Decodes the first image of the body.
    /// - Throws: An error if the body is not an image.
    public func decode(from data: Data) throws -> UIImage {
        guard let image = UIImage(data: data, scale: scale) else { throw ImageDecodingError() }
        return image
    }
}
#elseif canImport(AppKit)
import AppKit

/// Decodes an image: `try result.message.parseBody(using: ImageDecoder())`.
///
/// `NSImage` is not `Sendable`, so it must not be decoded on one thread and shown on another. Decode it on the main actor, which shows it,
/// from the response, which is `Sendable`. Decoding is cheap there: the bitmap is made when the image is first drawn.
public struct ImageDecoder: ResponseDecoder {
    /// Makes a decoder.
    public init() {}

    /// Decodes the image.
    /// - Throws: An error if the body is not an image.
    public func decode(from data: Data) throws -> NSImage {
        guard let image = NSImage(data: data) else { throw ImageDecodingError() }
        return image
    }
}
#endif

#if canImport(UIKit) || canImport(AppKit)
/// The error for a body that the system cannot decode as an image.
package struct ImageDecodingError: Error, Sendable, CustomStringConvertible {
    /// The reason.
    package var description: String { "the body is not an image" }
}
#endif
