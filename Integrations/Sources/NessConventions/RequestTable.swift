import Foundation

/// A value behind a lock.
///
/// It is public, like `RequestTable`, because the compiler specializes only public generic code in other modules. No product contains this
/// module, so applications do not see it.
public final class Locked<Value>: @unchecked Sendable {  // `lock` guards `value`.
    @usableFromInline let lock = NSLock()
    @usableFromInline var value: Value

    /// Makes a locked value.
    @inlinable
    public init(_ value: Value) { self.value = value }

    /// Calls a closure with the value. The closure must not use this object.
    @inlinable @inline(__always)
    public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

/// Values that an observer keeps for each running request, by `HTTPRequest.id`.
public final class RequestTable<Value: Sendable>: Sendable {
    @usableFromInline let values = Locked<[Int: Value]>([:])

    /// Makes an empty table.
    @inlinable
    public init() {}

    /// The value of a request; `nil` before its start and after its end.
    @inlinable
    public subscript(id: Int) -> Value? {
        get { values.withLock { $0[id] } }
        set { values.withLock { $0[id] = newValue } }
    }

    /// Changes the value of a request, if there is one, and returns it.
    @inlinable
    public func change(_ id: Int, _ change: (inout Value) -> Void) -> Value? {
        values.withLock { values in
            guard let index = values.index(forKey: id) else { return nil }
            change(&values.values[index])
            return values.values[index]
        }
    }

    /// Removes the value of a request, and returns it.
    @inlinable
    public func remove(_ id: Int) -> Value? { values.withLock { $0.removeValue(forKey: id) } }
}
