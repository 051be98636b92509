/// A refresh of a credential: the code that it runs belongs to it, and must not wait for it.
final class RunningRefresh: ScopeMember {
    /// The refresh was given up: by everyone who waited, or because the credential was set meanwhile.
    struct Abandoned: Error {}

    /// The refresh took longer than it may.
    struct TimedOut: Error {}

    private let authentication: ObjectIdentifier
    /// Settles when the refresh has ended. Dropping it cancels the refresh.
    let end = Promise<Void>(makeDropError: { Abandoned() })
    /// The refreshes that this one's requests wait for.
    private let awaited = Lock<[RunningRefresh]>([])

    init(of authentication: AnyObject) { self.authentication = ObjectIdentifier(authentication) }

    var isLive: Bool { !end.isCompleted }

    /// Returns true if the present code belongs to a refresh of an authentication.
    static func surrounds(_ authentication: AnyObject) -> Bool {
        HandlerScope.surrounding(RunningRefresh.self).contains { $0.authentication == ObjectIdentifier(authentication) }
    }

    /// Waits for the end of the refresh.
    /// - Returns: False where that would never come: the refresh waits for another one, which the present code belongs to.
    /// - Throws: The refresh's error.
    func wait() async throws -> Bool {
        let surrounding = HandlerScope.surrounding(RunningRefresh.self)
        for other in surrounding { other.awaited.withLock { $0.append(self) } }
        defer {
            for other in surrounding {
                other.awaited.withLock { awaited in
                    if let place = awaited.firstIndex(where: { $0 === self }) { awaited.remove(at: place) }
                }
            }
        }
        // Noted before it is looked for: of two that come to wait for each other at once, one at least finds the other's note.
        if surrounding.contains(where: { waits(for: $0) }) { return false }
        try await end.value
        return true
    }

    /// Returns true if this refresh can't end before another one.
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
