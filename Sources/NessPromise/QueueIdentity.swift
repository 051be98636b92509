import Dispatch

extension DispatchQueue {
    /// Returns true if both objects stand for one queue.
    ///
    /// On Apple platforms a queue is one object. On Linux `DispatchQueue.main` and `.global()` make a new object at every call, so the
    /// address of the underlying queue decides. Reading that address takes about a microsecond. It is read only for queues with a label
    /// like the system's.
    func isSame(as other: DispatchQueue) -> Bool {
        if self === other { return true }
        guard let address = systemAddress else { return false }
        return address == other.systemAddress
    }

    #if canImport(Darwin)
    /// `nil`: the object itself is the queue's identity.
    var systemAddress: String? { nil }
    #else
    /// The address of the underlying queue; `nil` for a queue with a label that no system queue has. Such a queue is one object.
    var systemAddress: String? {
        guard label.hasPrefix("com.apple.") else { return nil }
        return Mirror(reflecting: self).descendant("__wrapped").map { "\($0)" }
    }
    #endif

    /// True for the global queues, whose closures any thread can run.
    var isGlobal: Bool { Self.globalLabels.contains(label) && Self.globals.contains { isSame(as: $0) } }

    /// True on a thread that runs a closure of a global queue. On Linux such threads run Swift's tasks, too.
    static var isOnGlobalThread: Bool { globalLabels.contains(currentLabel) }

    private static let globals = [DispatchQoS.QoSClass.background, .utility, .default, .userInitiated, .userInteractive].map {
        DispatchQueue.global(qos: $0)
    }
    private static let globalLabels = Set(globals.map(\.label) + globals.map { $0.label + ".overcommit" })

    /// The label of the queue whose closure this thread runs.
    private static var currentLabel: String { labelOfQueue(nil).map { String(cString: $0) } ?? "" }
}

// On Linux the Swift overlay of Dispatch has no function for the label of the current queue. The C function takes null for that queue.
@_silgen_name("dispatch_queue_get_label")
private func labelOfQueue(_ queue: OpaquePointer?) -> UnsafePointer<CChar>?
