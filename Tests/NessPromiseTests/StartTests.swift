import NessLock
import NessPromise
import TestSupport
import Testing

@Suite("Starting", .timeLimit(.minutes(1)))
struct StartTests {
    @Test("an operation does not start if its promise was dropped before") func operationOfDroppedPromise() async throws {
        let promise = Promise<Int>(makeDropError: nil), hasStarted = Lock(false)
        promise.drop()
        promise.start {
            hasStarted.withLock { $0 = true }
            return 1
        }
        for _ in 0..<200 { await Task.yield() }
        #expect(!hasStarted.withLock { $0 })
    }

    @Test("a drop that meets the start cancels the operation") func dropDuringStart() async throws {
        let running = Lock(0)
        for _ in 0..<500 {
            let promise = Promise<Int>(makeDropError: nil)
            async let drop: Void = promise.drop()
            promise.start {
                running.withLock { $0 += 1 }
                defer { running.withLock { $0 -= 1 } }
                try await Task.sleep(for: .seconds(600))
                return 1
            }
            await drop
            await #expect(throws: PromiseError.dropped) { try await promise.value }
        }
        await untilTrue { running.withLock { $0 } == 0 }
        #expect(running.withLock { $0 } == 0)
    }
}
