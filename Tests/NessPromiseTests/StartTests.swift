import NessLock
import NessPromise
import Testing

@Suite("Starting", .timeLimit(.minutes(1)))
struct StartTests {
    @Test("an operation does not start if its promise was dropped before") func whatWasDroppedBeforeItBeganIsNotBegun() async throws {
        let promise = Promise<Int>(makeDropError: nil), seen = Lock<[String]>([])
        promise.drop()
        promise.start {
            seen.withLock { $0.append("begun") }
            return 1
        } settled: { error in
            seen.withLock { $0.append(error == nil ? "settled" : "dropped") }
        }
        for _ in 0..<200 { await Task.yield() }
        #expect(seen.withLock { $0 } == ["dropped"])
    }

    @Test("the closure that runs at the end always runs") func theEndIsAlwaysTold() async throws {
        let told = Lock(0)
        for _ in 0..<2_000 {
            let promise = Promise<Int>(makeDropError: nil)
            promise.start {
                1
            } settled: { _ in
                told.withLock { $0 += 1 }
            }
            _ = try await promise.value
        }
        while told.withLock({ $0 }) < 2_000 && !Task.isCancelled { await Task.yield() }
        #expect(told.withLock { $0 } == 2_000)
    }
}
