import Dispatch

extension DispatchQueue {
    /// The object that stands for this queue, so that `===` tells whether two objects are the same queue.
    ///
    /// On Apple platforms a queue is one object. On Linux `DispatchQueue.main` and `.global()` make a new object at every call. There each
    /// of the system's queues carries a mark, which is the object that stands for it.
    var canonical: DispatchQueue {
        #if canImport(Darwin)
        return self
        #else
        if self === globalQueue || self === mainQueue { return self }
        return getSpecific(key: Self.systemMark) ?? self
        #endif
    }

    /// True for the global queues, whose closures any thread can run.
    var isGlobal: Bool { Self.globals.contains { $0 === canonical } }

    /// True on a thread that runs a closure of a global queue. On Linux such threads also run Swift's tasks. Always false on Apple
    /// platforms, where a global queue cannot carry a mark.
    static var isOnGlobalThread: Bool {
        #if canImport(Darwin)
        false
        #else
        getSpecific(key: systemMark)?.isGlobal ?? false
        #endif
    }

    private static let globals =
        [DispatchQoS.QoSClass.background, .utility, .userInitiated, .userInteractive].map { DispatchQueue.global(qos: $0) } + [globalQueue]

    #if !canImport(Darwin)
    private static let systemMark: DispatchSpecificKey<DispatchQueue> = {
        let key = DispatchSpecificKey<DispatchQueue>()
        for queue in globals + [mainQueue] { queue.setSpecific(key: key, value: queue) }
        return key
    }()
    #endif
}
