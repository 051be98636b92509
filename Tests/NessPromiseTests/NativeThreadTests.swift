import Foundation
import NessPromise
import Testing

@Suite struct NativeThreadTests {
    @Test("a thread runs its closure, on a stack of the given size")
    func runs() async {
        let name = await withCheckedContinuation { continuation in
            let code = NativeThread.start(stackSize: 512 << 10) {
                Thread.current.name = "a thread"
                continuation.resume(returning: Thread.current.name)
            }
            #expect(code == 0)
        }
        #expect(name == "a thread")
    }

    @Test("without memory for its stack no thread starts, and the closure is released unrun")
    func failure() {
        final class Token: Sendable {}
        weak var released: Token?
        do {
            let token = Token()
            released = token
            let code = NativeThread.start(stackSize: 1 << 60) {
                _ = token
                Issue.record("a thread with such a stack cannot exist")
            }
            #expect(code != 0)
        }
        #expect(released == nil)
    }
}
