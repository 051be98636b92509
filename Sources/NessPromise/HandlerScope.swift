/// The work that the present code belongs to, such as the refresh of a credential: code that belongs to it must not wait for its end.
///
/// A task hands task-local values on to the tasks that are made in it, but they are lost where a promise hops to a queue. So a promise keeps
/// the scope in which a handler is added, and runs the handler in it: on any queue, also where the closure is asynchronous. A handler that was
/// added outside never runs in a scope, even where a call inside settles its promise.
///
/// Detached tasks, and closures that are given to a queue by hand, are in no scope.
package final class HandlerScope: Sendable {
    /// The scope of this task, or of the handler that runs; nil for none.
    @TaskLocal package static var current: HandlerScope?

    private let members: [any ScopeMember]

    private init(_ members: [any ScopeMember]) { self.members = members }

    /// The work of one kind that goes on around the present code, outermost first.
    package static func surrounding<Member: ScopeMember>(_ kind: Member.Type) -> [Member] {
        guard let current else { return [] }
        return current.members.compactMap { member in
            guard let member = member as? Member, member.isLive else { return nil }
            return member
        }
    }

    /// True if the present code belongs to any work that goes on.
    package static var isInside: Bool { current?.members.contains { $0.isLive } ?? false }

    /// Runs an operation inside a piece of work. Work that has ended is left out, so that a chain of tasks does not make the list grow.
    package static func with<Value: Sendable>(
        _ member: some ScopeMember, _ operation: @Sendable () async throws -> Value
    ) async rethrows -> Value {
        let members = (current?.members.filter(\.isLive) ?? []) + [member]
        return try await $current.withValue(HandlerScope(members)) { try await operation() }
    }

    /// Runs an operation of a task that inherits nothing in a scope.
    static func run<Value: Sendable>(in scope: HandlerScope?, _ operation: @Sendable () async throws -> Value) async rethrows -> Value {
        guard let scope else { return try await operation() }
        return try await $current.withValue(scope) { try await operation() }
    }

    /// Has a handler run in the scope in which it is added.
    static func bind(_ body: @escaping AnyPromise.Body) -> AnyPromise.Body {
        guard let scope = current else { return body }
        return { parent, link, error, runner in $current.withValue(scope) { body(parent, link, error, runner) } }
    }
}

/// A piece of work that a `HandlerScope` may hold.
package protocol ScopeMember: Sendable {
    /// True while the work goes on. A task that was started in it may outlive it.
    var isLive: Bool { get }
}
