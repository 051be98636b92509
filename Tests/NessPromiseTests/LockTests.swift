import Dispatch
import NessLock
import NessPromise
import TestSupport
import Testing

@Suite struct LockTests {
    @Test("a promise used from many threads concurrently loses no handler, and no thread sleeps forever")
    func contention() async {
        let isDone = await onThread { () -> Bool in
            for _ in 0..<200 {
                let (promise, resolver) = Promise<Int>.pending()
                let seen = Lock(0)
                DispatchQueue.concurrentPerform(iterations: 16) { index in
                    for _ in 0..<20 { promise.then(on: .immediate) { _ in seen.withLock { $0 += 1 } } }
                    if index == 7 { resolver.resolve(1) }
                }
                if seen.withLock({ $0 }) != 320 { return false }
            }
            return true
        }
        #expect(isDone)
    }
}
