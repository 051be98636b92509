import Foundation
import NessHTTP
import NessLock
import NessTesting

extension ConformanceFault {
    /// Faults of `receive`.
    static let receives: [ConformanceFault] = [
        .errors("wraps errors of `receive`", fails: ["receive.error", "receive.error-at-the-end"]) { error, _ in
            error is TransportError || error is CancellationError
                ? error : TransportError(.connectionLost, "the receiver failed", underlying: error)
        },
        ConformanceFault("continues after `receive` has thrown", fails: ["receive.error-at-the-end"]) {
            wire, request, receive in
            try await wire.send(request) { event in try? await receive(event) }
        },
        ConformanceFault("returns early", fails: ["contract.returns-when-whole", "contract.events"]) {
            wire, request, receive in
            struct Enough: Error {}
            do {
                try await wire.send(request) { event in
                    try await receive(event)
                    if case .body = event { throw Enough() }
                }
            } catch is Enough {}
        },
        ConformanceFault("returns when it is cancelled", fails: ["contract.returns-at-the-end"], isEndless: true) {
            wire, request, receive in
            try await wire.send(request, receive: receive)
            await TestGate().wait()
        },
        ConformanceFault("reports pieces in the wrong order", fails: ["contract.events", "receive.order-under-load"]) {
            wire, request, receive in
            let held = Lock<Data?>(nil)
            try await wire.send(request) { event in
                guard case .body(let data) = event else { return try await receive(event) }
                let isFirst = held.withLock { held in
                    defer { held = held ?? data }
                    return held == nil
                }
                if !isFirst { try await receive(event) }
            }
            if let data = held.withLock({ $0 }) { try await receive(.body(data)) }
        },
        // Calls `receive` for the second piece while it takes the first.
        .ofFirst("calls `receive` twice at once", fails: ["receive.one-at-a-time"]) { wire, request, receive, hasHappened in
            let first = Lock<Task<Void, any Error>?>(nil)
            try await wire.send(request) { event in
                guard case .body = event else { return try await receive(event) }
                if first.withLock({ $0 == nil }) {
                    first.withLock { $0 = Task { try await receive(event) } }
                } else {
                    try await receive(event)
                    hasHappened.open()
                }
            }
            try await first.withLock { $0 }?.value
        },
        // Reads as fast as it can, and keeps the pieces in memory.
        .ofFirst("has no back pressure", fails: ["receive.back-pressure"]) { wire, request, receive, hasHappened in
            let (events, queue) = AsyncStream<TransportEvent>.makeStream()
            async let sent: Void = {
                defer {
                    hasHappened.open()
                    queue.finish()
                }
                try await wire.send(request) { queue.yield($0) }
            }()
            for await event in events { try await receive(event) }
            try await sent
        },
    ]

    /// A fault of the first transport of a check. The others start when it has happened.
    private static func ofFirst(
        _ name: String, fails: [TransportConformance.ID],
        send: @escaping @Sendable (any Transport, HTTPRequest, @escaping Receive, _ hasHappened: TestGate) async throws -> Void
    ) -> ConformanceFault {
        let count = Lock(0), hasHappened = TestGate()
        return ConformanceFault(name, fails: fails) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return Faulty { wire, request, receive in
                if number == 1 { return try await send(wire, request, receive, hasHappened) }
                await hasHappened.wait()
                try await wire.send(request, receive: receive)
            }
        }
    }

    /// Faults of the whole transport.
    static let wholes: [ConformanceFault] = [
        ConformanceFault("uses a new connection for each exchange", fails: ["load.reuse"]) { _, request, receive in
            let wire = makeWire()
            do {
                try await wire.send(request, receive: receive)
            } catch {
                await wire.shutdown()
                throw error
            }
            await wire.shutdown()
        },
        ConformanceFault(
            "cannot be shut down",
            fails: ["shutdown.connections", "shutdown.in-flight", "shutdown.later", "shutdown.twice", "shutdown.unused"], isEndless: true
        ) {
            var transport = Faulty { try await $0.send($1, receive: $2) }
            transport.onShutdown = { _ in }
            return transport
        },
        ConformanceFault("sends one request at a time", fails: ["load.at-once"], isEndless: true) {
            let isBusy = Lock(false), changed = ChangeSignal()
            return Faulty { wire, request, receive in
                await changed.wait {
                    isBusy.withLock { isBusy in
                        defer { isBusy = true }
                        return !isBusy
                    }
                }
                defer {
                    isBusy.withLock { $0 = false }
                    changed.notify()
                }
                try await wire.send(request, receive: receive)
            }
        },
        ConformanceFault("fails in the long run", fails: ["load.in-a-row", "load.posts-in-a-row"]) {
            let count = Lock(0)
            // Its POSTs reuse a connection. On fresh ones, idle connections would stay open for two minutes, and the check would wait for them.
            return Faulty(wire: Ness().configuration.transport) { wire, request, receive in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                guard number < 200 else { throw TransportError(.connectionLost, "there are no descriptors left") }
                try await wire.send(request, receive: receive)
            }
        },
    ]

    /// All faults.
    static let all = requests + responses + ends + errors + sends + cancels + receives + wholes
}
