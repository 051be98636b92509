/// The work that the calling code belongs to, such as the refresh of a credential. Code that belongs to some work must not wait for the
/// end of that work.
///
/// A task passes its task-local values to the tasks that are made in it, but not to a queue. A promise therefore stores the scope in which
/// a handler is added, and runs the handler in that scope, on any queue, even if the handler is asynchronous. A handler that was added
/// outside of all scopes runs outside, even if code in a scope settles its promise.
///
/// Detached tasks, and closures that code sends to a queue itself, are in no scope.
package final class HandlerScope: Sendable {
    /// The scope of this task, or of the running handler; `nil` for none.
    @TaskLocal package static var current: HandlerScope?

    private let member: any ScopeMember
    /// The scope around this one; `nil` for none.
    private let outer: HandlerScope?

    private init(_ member: any ScopeMember, in outer: HandlerScope?) {
        self.member = member
        self.outer = outer
    }

    /// This scope without the work that has ended; `nil` if all has.
    private var live: HandlerScope? {
        let outer = outer?.live
        guard member.isLive else { return outer }
        return outer === self.outer ? self : HandlerScope(member, in: outer)
    }

    /// Returns the running work of one kind that the calling code belongs to, outermost first.
    package static func surrounding<Member: ScopeMember>(_ kind: Member.Type) -> [Member] {
        var found: [Member] = []
        var scope = current
        while let present = scope {
            if let member = present.member as? Member, member.isLive { found.append(member) }
            scope = present.outer
        }
        return found.reversed()
    }

    /// True if the calling code belongs to any running work.
    package static var isInside: Bool { current?.live != nil }

    /// Runs an operation as a part of some work. The operation's scope omits work that has ended, so a chain of tasks does not make the
    /// chain of scopes grow.
    package static func with<Value: Sendable>(
        _ member: some ScopeMember, _ operation: @Sendable () async throws -> Value
    ) async rethrows -> Value {
        try await $current.withValue(HandlerScope(member, in: current?.live)) { try await operation() }
    }

    /// Runs an operation in a scope. It serves detached tasks, which inherit no scope.
    static func run<Value: Sendable>(in scope: HandlerScope?, _ operation: @Sendable () async throws -> Value) async rethrows -> Value {
        guard let scope else { return try await operation() }
        return try await $current.withValue(scope) { try await operation() }
    }

    /// Returns a body that runs in the current scope.
    static func bind(_ body: @escaping AnyPromise.Body) -> AnyPromise.Body {
        guard let scope = current else { return body }
        return { parent, link, error, runner in $current.withValue(scope) { body(parent, link, error, runner) } }
    }
}

/// Work that a `HandlerScope` may hold.
package protocol ScopeMember: Sendable {
    /// True until the work has ended. A task that was started in the work may outlive it.
    var isLive: Bool { get }
}
