import Synchronization

/// A value that several tasks of a test share.
final class TestValue<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    init(_ value: Value) { stored = Mutex(value) }

    var value: Value { stored.withLock { $0 } }

    func set(_ value: Value) { stored.withLock { $0 = value } }

    func change(_ change: (inout Value) -> Void) { stored.withLock { change(&$0) } }
}
