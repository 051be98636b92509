import NessLock

/// A running refresh of a credential. Code that the refresh runs belongs to it, and must not wait for it.
final class RunningRefresh: ScopeMember {
    /// The refresh was abandoned: all its waiters were dropped, or a new credential was set.
    struct Abandoned: Error {}

    /// The refresh took longer than its timeout.
    struct TimedOut: Error {}

    private let authentication: ObjectIdentifier
    /// Settles when the refresh has ended. Dropping it cancels the refresh.
    let end = Promise<Void>(makeDropError: { Abandoned() })
    /// The refreshes that the requests of this refresh wait for.
    private let awaited = Lock<[RunningRefresh]>([])

    init(of authentication: AnyObject) { self.authentication = ObjectIdentifier(authentication) }

    var isLive: Bool { !end.isCompleted }

    /// Returns true if the calling code belongs to a refresh of the authentication.
    static func surrounds(_ authentication: AnyObject) -> Bool {
        HandlerScope.surrounding(RunningRefresh.self).contains { $0.authentication == ObjectIdentifier(authentication) }
    }

    /// Waits for the end of the refresh.
    /// - Returns: False if the wait could never end, because the refresh waits for another refresh to which the calling code belongs.
    /// - Throws: The refresh's error.
    func wait() async throws -> Bool {
        let surrounding = HandlerScope.surrounding(RunningRefresh.self)
        for other in surrounding { other.awaited.withLock { $0.append(self) } }
        defer {
            for other in surrounding {
                other.awaited.withLock { awaited in
                    if let index = awaited.firstIndex(where: { $0 === self }) { awaited.remove(at: index) }
                }
            }
        }
        // Registered before the check: if two refreshes start to wait for each other at the same time, at least one of them sees the
        // other's entry.
        if surrounding.contains(where: { waits(for: $0) }) { return false }
        try await end.value
        return true
    }

    /// Returns true if this refresh cannot end before another one.
    private func waits(for other: RunningRefresh) -> Bool {
        var stack: [RunningRefresh] = [self]
        var seen: Set<ObjectIdentifier> = []
        while let refresh = stack.popLast() {
            if refresh === other { return true }
            guard seen.insert(ObjectIdentifier(refresh)).inserted else { continue }
            stack += refresh.awaited.withLock { $0 }
        }
        return false
    }
}
