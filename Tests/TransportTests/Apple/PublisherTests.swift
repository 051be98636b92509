#if canImport(Combine)
import Combine
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Promises as publishers, on Apple platforms only.
@Suite(.inTurn(.withoutSockets)) struct PublisherTests {
    @Test("a publisher emits the value once, or the error")
    func outcome() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x", replies: [.text("a"), .failure(.offline)])
        var texts: [String] = []
        for try await result in rig.ness.httpRequest(withUrl: "x").dataRequest().publisher.values { texts.append(result.message.text) }
        #expect(texts == ["a"])
        let failing = rig.ness.httpRequest(withUrl: "x").dataRequest()
        await #expect(throws: NessError.self) {
            for try await _ in failing.publisher.values {}
        }
    }

    @Test("canceling the only subscription drops the request")
    func cancel() async throws {
        let rig = Rig(), reached = TestGate()
        rig.mock.on(.get, "/x") { _ in
            reached.open()
            await TestGate().wait()
            return .text("late")
        }
        let promise = rig.ness.httpRequest(withUrl: "x").dataRequest()
        let subscription = promise.publisher.sink(receiveCompletion: { _ in }, receiveValue: { _ in })
        await reached.wait()
        subscription.cancel()
        #expect(await promise.nessError()?.kind == .dropped)
    }
}
#endif
