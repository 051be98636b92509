import NessTesting
import TestSupport
import Testing

/// The trait under the suites of this package, as far as it ends a test that hangs.
@Suite(.inTurn(.withoutSockets)) struct InTurnTests {
    struct Failed: Error {}

    @Test("a test that hangs is canceled at the limit and fails; one that ends before it does not")
    func limit() async throws {
        let limit = TestGate()
        try await InTurn.run(until: limit) {}
        await #expect(throws: Failed.self) { try await InTurn.run(until: limit) { throw Failed() } }
        let hangs = TestGate(), started = TestGate()
        async let opens: Void = {
            await started.wait()
            limit.open()
        }()
        await #expect(throws: InTurn.TookTooLong.self) {
            try await InTurn.run(until: limit) {
                started.open()
                await hangs.wait()
            }
        }
        await opens
        #expect(!hangs.isOpen)
    }
}
