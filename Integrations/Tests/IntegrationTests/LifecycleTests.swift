import Foundation
import NessHTTP
import NessServiceLifecycle
import NessTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite struct LifecycleTests {
    private func rig() -> (MockTransport, Ness, started: TestGate, go: TestGate) {
        let mock = MockTransport(), started = TestGate(), go = TestGate()
        mock.on(.get, "/a") { _ in
            started.open()
            await go.wait()
            return .text("x")
        }
        return (mock, Ness { $0.transport = mock }, started, go)
    }

    @Test("a graceful shutdown lets running requests end, and starts no other")
    func graceful() async throws {
        let (_, ness, started, go) = rig()
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await NessService(ness, shutdownWithin: .seconds(60)).run() }
                let promise = ness.get("https://mock.test/a").dataRequest()
                await started.wait()
                trigger.triggerGracefulShutdown()
                // The shutdown has begun once a new request is rejected.
                while true {
                    let error = await ness.get("https://mock.test/b").dataRequest().settled
                    if case .failure(NessError.Kind.dropped) = error { break }
                }
                go.open()
                #expect(try await promise.value.message.text == "x")
                try await group.waitForAll()
            }
        }
    }

    @Test("a cancellation drops the running requests")
    func cancelled() async throws {
        let (_, ness, started, go) = rig()
        let service = Task { try await NessService(ness).run() }
        let promise = ness.get("https://mock.test/a").dataRequest()
        await started.wait()
        service.cancel()
        await #expect(throws: NessError.self) { try await promise.value }
        go.open()
        try await service.value
    }
}
