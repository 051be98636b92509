@_exported import Foundation

public class NSImage: NSObject {
    public init?(data: Data) {}
    public var size: NSSize { .zero }
}

// The SDK has the same rule: an image may be drawn by one thread at a time.
@available(*, unavailable) extension NSImage: @unchecked Sendable {}
