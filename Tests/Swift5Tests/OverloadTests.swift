import NessPromise
import Testing

/// Calls whose overload the compiler chooses by other rules in the Swift 5 language mode.
@Suite struct OverloadTests {
    @Sendable private static func isTask(_: Int) throws -> Bool { withUnsafeCurrentTask { $0 != nil } }
    @Sendable private static func isTaskToo(_ value: Int) async throws -> Bool { try isTask(value) }

    private static func makeOutsideOfTask() -> Promise<Bool> { Promise.resolved(1).then(isTask) }

    @Test("a synchronous function that is passed by name runs as a handler, and an asynchronous one as a task")
    func named() async throws {
        #expect(try await !Promise.resolved(1).then(Self.isTask).value)
        #expect(try await !Self.makeOutsideOfTask().value)
        #expect(try await !Promise.resolved(1).then { try Self.isTask($0) }.value)
        #expect(try await Promise.resolved(1).then(Self.isTaskToo).value)
        #expect(try await Promise<Bool>.rejected(PromiseError.timedOut).recover { _ in try Self.isTask(1) }.value == false)
    }
}
