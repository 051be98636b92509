@_exported import Foundation

public class UIImage: NSObject, @unchecked Sendable {
    public init?(data: Data, scale: CGFloat) {}
    public var scale: CGFloat { 1 }
    public var size: CGSize { .zero }
}

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
    public var rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
}

#if !os(watchOS)
@MainActor public class UIApplication: NSObject {
    public class var shared: UIApplication { fatalError() }
    @discardableResult public nonisolated func beginBackgroundTask(expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil)
        -> UIBackgroundTaskIdentifier { fatalError() }
    public nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) { fatalError() }
}
#endif
