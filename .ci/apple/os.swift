// The unfair lock and the log. In the SDK, messages of the log take values of many types, not only strings.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
    public init(uncheckedState: State) {}
    public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result { fatalError() }
    public func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result { fatalError() }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension OSAllocatedUnfairLock where State: Sendable {
    public init(initialState: State) {}
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension OSAllocatedUnfairLock<Void> {
    public init() {}
    @available(*, noasync) public func lock() {}
    @available(*, noasync) public func unlock() {}
}

@available(macOS 11, iOS 14, tvOS 14, watchOS 7, *)
public struct Logger: @unchecked Sendable {
    public init(subsystem: String, category: String) {}
    public func debug(_ message: OSLogMessage) {}
    public func info(_ message: OSLogMessage) {}
    public func log(_ message: OSLogMessage) {}
    public func error(_ message: OSLogMessage) {}
}

public struct OSLogPrivacy: Sendable {
    public static let `public` = OSLogPrivacy()
}

public struct OSLogMessage: ExpressibleByStringInterpolation {
    public struct StringInterpolation: StringInterpolationProtocol {
        public init(literalCapacity: Int, interpolationCount: Int) {}
        public mutating func appendLiteral(_ literal: String) {}
        public mutating func appendInterpolation(_ text: @autoclosure @escaping () -> String, privacy: OSLogPrivacy) {}
    }
    public init(stringLiteral text: String) {}
    public init(stringInterpolation: StringInterpolation) {}
}

@available(macOS 12, iOS 15, tvOS 15, watchOS 8, *)
public struct OSSignposter: @unchecked Sendable {
    public init(subsystem: String, category: String) {}
    public func beginInterval(_ name: StaticString, id: OSSignpostID = .exclusive, _ message: OSLogMessage) -> OSSignpostIntervalState {
        fatalError()
    }
    public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}
}

public struct OSSignpostID: Sendable {
    public static let exclusive = OSSignpostID(1)
    public init(_ value: UInt64) {}
}

@available(macOS 12, iOS 15, tvOS 15, watchOS 8, *)
public class OSSignpostIntervalState {
    public static func beginState(id: OSSignpostID) -> OSSignpostIntervalState { fatalError() }
}
