import Dispatch

extension DispatchQueue {
    /// Returns true if both objects stand for one queue.
    ///
    /// On Apple platforms a queue is one object. On Linux `DispatchQueue.main` and `.global()` make a new one at every call: there the address
    /// of the queue beneath decides. Reading it takes about a microsecond, so it is read only for queues with a label like the system's.
    func isSame(as other: DispatchQueue) -> Bool {
        if self === other { return true }
        guard let address = systemAddress else { return false }
        return address == other.systemAddress
    }

    #if canImport(Darwin)
    /// Nil: the object itself is the queue's identity.
    var systemAddress: String? { nil }
    #else
    /// The address of the queue beneath; nil for one whose label shows that it is not the system's, and which is one object.
    var systemAddress: String? {
        guard label.hasPrefix("com.apple.") else { return nil }
        return Mirror(reflecting: self).descendant("__wrapped").map { "\($0)" }
    }
    #endif

    /// True for the global queues, behind which any thread can take over.
    var isGlobal: Bool { Self.globalLabels.contains(label) && Self.globals.contains { isSame(as: $0) } }

    /// True on a thread that one of the global queues has lent. On Linux these threads run Swift's tasks, too.
    static var isOnGlobalThread: Bool { globalLabels.contains(currentLabel) }

    private static let globals = [DispatchQoS.QoSClass.background, .utility, .default, .userInitiated, .userInteractive].map {
        DispatchQueue.global(qos: $0)
    }
    private static let globalLabels = Set(globals.map(\.label) + globals.map { $0.label + ".overcommit" })

    /// The label of the queue that this thread works for.
    private static var currentLabel: String { labelOfQueue(nil).map { String(cString: $0) } ?? "" }
}

// The overlay of Dispatch has no call for the label of the current queue on Linux. The C library has one, in which null stands for that queue.
@_silgen_name("dispatch_queue_get_label")
private func labelOfQueue(_ queue: OpaquePointer?) -> UnsafePointer<CChar>?
