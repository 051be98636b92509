// The state of the network. In the SDK, `NWPath.Status` and the monitor have more members, and the monitor is an `AsyncSequence`.
import Dispatch

@available(macOS 10.14, iOS 12, tvOS 12, watchOS 5, *)
public struct NWPath: Equatable, Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status
    public let isExpensive: Bool
    @available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)
    public var isConstrained: Bool { false }
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}

@available(macOS 10.14, iOS 12, tvOS 12, watchOS 5, *)
public struct NWInterface: Hashable, Sendable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
}

// Sendable in newer SDKs only.
@available(macOS 10.14, iOS 12, tvOS 12, watchOS 5, *)
public final class NWPathMonitor {
    public init() {}
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
