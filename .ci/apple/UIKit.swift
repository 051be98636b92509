@_exported import Foundation

public class UIImage: NSObject, @unchecked Sendable {
    public init?(data: Data, scale: CGFloat) {}
    public var scale: CGFloat { 1 }
    public var size: CGSize { .zero }
}
