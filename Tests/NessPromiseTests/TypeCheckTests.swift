import NessPromise
import TestSupport
import Testing

/// Chains of eight handlers, as they are written in practice. The compiler has to type-check each chain as one expression. `.ci/chains`
/// compiles this file with a limit of two seconds per expression. Without a limit the compiler gives up after about ten seconds.
///
/// Every overload of `then` multiplies the combinations that the compiler tries. Eight handlers that alternate between `{ $0 + 1 }` and an
/// asynchronous closure are already too many. A chain here alternates at most three times.
@Suite struct TypeCheckTests {
    @Sendable static func slow(_ value: Int) async throws -> Int { value }

    @Test func then() async throws {
        let end = Promise.resolved(0)
            .then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }
        #expect(try await end.value == 8)
    }

    @Test func thenOfOtherTypes() async throws {
        let end = Promise.resolved(0)
            .then { $0 + 1 }.then { "\($0)" }.then { $0.count }.then { $0 * 2 }.then { "\($0)!" }.then { $0.count }.then { $0 - 1 }
            .then { $0 == 1 }
        #expect(try await end.value)
    }

    @Test func thenOfLiterals() async throws {
        let end = Promise.resolved(0)
            .then { _ in 1 }.then { _ in 1.5 }.then { _ in "a" }.then { _ in [1, 2] }.then { _ in nil as Int? }.then { $0 ?? 1 }
            .then { _ in true }.then { $0 ? 1 : 2 }
        #expect(try await end.value == 1)
    }

    @Test func asynchronous() async throws {
        let end = Promise.resolved(0)
            .then { try await Self.slow($0) + 1 }.then { try await Self.slow($0) + 1 }.then { try await Self.slow($0) + 1 }
            .then { try await Self.slow($0) + 1 }.then { try await Self.slow($0) + 1 }.then { try await Self.slow($0) + 1 }
            .then { try await Self.slow($0) + 1 }.then { try await Self.slow($0) + 1 }
        #expect(try await end.value == 8)
    }

    @Test func oneAsynchronousAmongOthers() async throws {
        let end = Promise.resolved(0)
            .then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }.then { $0 + 1 }
            .then { try await Self.slow($0) }
        #expect(try await end.value == 7)
    }

    @Test func alternating() async throws {
        let end = Promise.resolved(0)
            .then { $0 + 1 }.then { try await Self.slow($0) }.then { "\($0)" }.then { try await Self.slow($0.count) }.then { $0 * 2 }
            .handle { _ in }.recover { _ in 0 }.finally { _, _ in }
        #expect(try await end.value == 2)
    }

    @Test func thenContinue() async throws {
        let end = Promise.resolved(0)
            .thenContinue { .resolved($0 + 1) }.thenContinue { .resolved($0 + 1) }.thenContinue { .resolved($0 + 1) }
            .thenContinue { Promise.resolved($0 + 1) }.thenContinue { .resolved($0 + 1) }.thenContinue { .resolved($0 + 1) }
            .thenContinue(on: .immediate) { .resolved($0 + 1) }.thenContinue(on: .main) { .resolved($0 + 1) }
        #expect(try await end.value == 8)
    }

    @Test func recover() async throws {
        let end = Promise<Int>.rejected(Failure())
            .recover { throw $0 }.recover { throw $0 }.recover { throw $0 }.recover { throw $0 }.recover { throw $0 }
            .recover { _ in try await Self.slow(1) }.recover { _ in 2 }.recoverContinue { _ in .resolved(3) }
        #expect(try await end.value == 1)
    }

    @Test func recoverContinue() async throws {
        let end = Promise<Int>.rejected(Failure())
            .recoverContinue { _ in .resolved(1) }.recoverContinue { _ in .resolved(1) }.recoverContinue { _ in .resolved(1) }
            .recoverContinue { _ in .resolved(1) }.recoverContinue { _ in .resolved(1) }.recoverContinue { _ in .resolved(1) }
            .recoverContinue { _ in .resolved(1) }.recoverContinue { _ in .resolved(1) }
        #expect(try await end.value == 1)
    }

    @Test func handleAndFinally() async throws {
        let log = Log<String>()
        let end = Promise.resolved(1)
            .handle { log.add("\($0)") }.finally { log.add("\($0 as Any) \($1 as Any)") }.handle { log.add("\($0)") }
            .finally { _, _ in log.add("b") }.handle(on: .main) { log.add("\($0)") }.finally(on: .main) { _, _ in log.add("c") }
            .handle(onMain: { log.add("\($0)") }).finally(onMain: { _, _ in log.add("d") })
        #expect(try await end.value == 1)
        #expect(log.entries.count == 4)
    }

    @Test func onQueues() async throws {
        let end = Promise.resolved(0)
            .then(on: .main) { $0 + 1 }.then(on: .default) { $0 + 1 }.then(on: .immediate) { $0 + 1 }.then(on: .main) { $0 + 1 }
            .then(on: .main) { "\($0)" }.then(on: .main) { $0.count }.then(on: .default) { $0 + 1 }.then(on: .main) { $0 + 1 }
        #expect(try await end.value == 3)
    }

    @Test func onMain() async throws {
        let end = Promise.resolved(0)
            .then(onMain: { print($0) }).then(onMain: { print($0) }).handle(onMain: { print($0) }).then(onMain: { print($0) })
            .finally(onMain: { print("a") }).then { 1 }.finally(onMain: { print($0 as Any, $1 as Any) }).recover(onMain: { _ in 0 })
        #expect(try await end.value == 1)
    }

    @Test func everything() async throws {
        let end = Promise.resolved(0)
            .then { $0 + 1 }.then { "\($0)" }.handle { print($0) }.then(on: .main) { $0.count * 2 }.recover { _ in 0 }
            .finally { _, _ in }.then { try await Self.slow($0) + 1 }.thenContinue { .resolved($0 + 1) }
        #expect(try await end.value == 4)
    }
}
