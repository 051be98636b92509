#if DEBUG
import NessLock
import NessPromise
import TestSupport
import Testing

/// Every test has errors of its own, because other tests leave errors unhandled at the same time.
@Suite(.timeLimit(.minutes(15))) struct UnhandledErrorTests {
    /// The reports of all tests of this suite.
    private static let reports: Log<UnhandledError> = {
        let reports = Log<UnhandledError>()
        AnyPromise.onUnhandledError = { reports.add($0) }
        return reports
    }()

    /// Runs a closure that makes errors, and returns the reports of these errors. An error that is certainly reported marks the end.
    private func reports(of name: String, count: Int, during body: () async throws -> Void) async rethrows -> [UnhandledError] {
        // Tests may be repeated in one process.
        let earlier = Self.reports.entries.count
        try await body()
        @Sendable func named(_ entries: [UnhandledError]) -> [UnhandledError] {
            entries.dropFirst(earlier).filter { ($0.error as? Failure)?.name == name }
        }
        await Self.reports.wait { named($0).count >= count }
        return named(Self.reports.entries)
    }

    @Test("an error that no code handles is reported once, with the line of the last promise of the chain")
    func reported() async {
        let line: UInt = #line + 2
        let reports = await reports(of: "reported", count: 1) {
            Promise<Int>.rejected(Failure(name: "reported")).then { $0 + 1 }
        }
        #expect(reports.count == 1)
        #expect(reports.first?.line == line)
        #expect(reports.first?.file == #fileID)
        #expect(reports.first?.description.hasPrefix("\(#fileID):\(line): ") == true)
    }

    @Test("a report never names a line of the library itself")
    func placesInside() async {
        let reports = await reports(of: "inside", count: 3) {
            for file in ["NessPromise/A.swift", "NessHTTP/A.swift", "NessTesting/A.swift"] as [StaticString] {
                Promise<Int>.rejected(Failure(name: "inside")).then(on: .immediate, { $0 + 1 }, file: file, line: 1)
            }
        }
        #expect(reports.map(\.file) == Array(repeating: #fileID, count: 3))
    }

    @Test("every way to make a promise names its line")
    func places() async {
        let start: UInt = #line
        let reports = await reports(of: "places", count: 11) {
            _ = Promise<Int> { throw Failure(name: "places") }
            let failed = Promise<Int>.resolved(1).then(on: .immediate) { _ -> Int in throw Failure(name: "places") }
            failed.thenContinue(on: .immediate) { .resolved($0) }
            Promise.resolved(1).thenContinue(on: .immediate) { _ in Promise<Int>.rejected(Failure(name: "places")) }
            Promise.resolved(1).then { _ async throws -> Int in throw Failure(name: "places") }
            _ = Promise.all([Promise<Int>.rejected(Failure(name: "places"))])
            _ = Promise.all(Promise<Int>.rejected(Failure(name: "places")), Promise.resolved(1))
            _ = Promise.race([Promise<Int>.rejected(Failure(name: "places"))])
            _ = Promise.any([Promise<Int>.rejected(Failure(name: "places"))])
            _ = Promise<Int>.rejected(Failure(name: "places")).timeout(after: .seconds(1))
            _ = Promise<Int>.rejected(Failure(name: "places")).delayed(by: .seconds(1))
            Promise.resolved(1).then(onMain: { _ in throw Failure(name: "places") })
        }
        #expect(reports.map { $0.line - start }.sorted() == [2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    }

    @Test("an error that any branch handles is not reported")
    func handled() async throws {
        let reports = try await reports(of: "end", count: 1) {
            func fail() -> Promise<Int> { .rejected(Failure(name: "handled")) }
            let branched = fail()
            branched.then(on: .immediate) { $0 + 1 }
            branched.handle(on: .immediate) { _ in }
            fail().handle(on: .immediate) { _ in }.then(on: .immediate) { $0 + 1 }
            fail().recover(on: .immediate) { _ in 1 }
            fail().recoverContinue(on: .immediate) { _ in .resolved(1) }
            fail().finally(on: .immediate) { _, _ in }
            _ = await fail().settled
            _ = try? await Promise<Int> { throw Failure(name: "handled") }.value
            _ = try? fail().wait(timeout: .seconds(1))
            _ = fail().error
            _ = fail().outcome
            _ = await Promise.allSettled([fail(), fail()])
            _ = try await Promise.allSettled(fail(), fail()).value
            _ = try await Promise.any([fail(), .resolved(1)]).value
            _ = try? await Promise.all([fail(), fail()]).value
            Promise<Int>.rejected(Failure(name: "end")).then(on: .immediate) { $0 + 1 }
        }
        #expect(reports.count == 1)
        #expect(Self.reports.entries.allSatisfy { ($0.error as? Failure)?.name != "handled" })
    }

    @Test("an error of pending() is not reported if the promise has no handlers, and is reported if it has one")
    func pending() async {
        let reports = await reports(of: "pending", count: 1) {
            Promise<Int>.pending().resolver.reject(Failure(name: "pending"))
            let (promise, resolver) = Promise<Int>.pending()
            promise.then(on: .immediate) { $0 + 1 }
            resolver.reject(Failure(name: "pending"))
        }
        #expect(reports.count == 1)
    }

    @Test("drops and cancellations are not reported")
    func drops() async {
        _ = await reports(of: "last", count: 1) {
            let (promise, resolver) = Promise<Int>.pending()
            promise.then { $0 + 1 }.drop()
            _ = resolver
            Promise<Int>.rejected(CancellationError()).then(on: .immediate) { $0 + 1 }
            Promise<Int>.rejected(PromiseError.dropped).then(on: .immediate) { $0 + 1 }
            Promise<Int>.rejected(Failure(name: "last")).then(on: .immediate) { $0 + 1 }
        }
        #expect(Self.reports.entries.allSatisfy { !($0.error is CancellationError) && $0.error as? PromiseError != .dropped })
    }

    @Test("finally without arguments does not handle the error, and rethrowing an error makes it unhandled again")
    func rethrown() async {
        let reports = await reports(of: "rethrown", count: 2) {
            Promise<Int>.rejected(Failure(name: "rethrown")).finally(on: .immediate) {}
            Promise<Int>.rejected(Failure(name: "rethrown")).recover(on: .immediate) { throw $0 }
        }
        #expect(reports.count == 2)
    }

    @Test("an error that finally replaces is reported when its promise is released, even if the new promise is kept")
    func replaced() async {
        let kept = Log<Promise<Int>>()
        let reports = await reports(of: "replaced", count: 1) {
            kept.add(Promise<Int>.rejected(Failure(name: "replaced")).finally(on: .immediate) { throw Failure(name: "replacement") })
        }
        #expect(reports.count == 1)
        #expect(kept.entries.count == 1)
    }

    @Test("a promise that waits for itself is reported")
    func waitsForItself() async {
        let earlier = Self.reports.entries.count
        let line: UInt = #line + 4
        do {
            let (start, resolver) = Promise<Void>.pending()
            let own = Lock<Promise<Int>?>(nil)
            let first = start.thenContinue(on: .immediate) { own.withLock { $0 } ?? .resolved(0) }
            own.withLock { $0 = first }
            resolver.resolve(())
            own.withLock { $0 = nil }
        }
        await Self.reports.wait { reports in
            reports.dropFirst(earlier).contains { $0.error as? PromiseError == .cycle && $0.line == line }
        }
    }
}
#endif
