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
        .endless("returns when it is cancelled", fails: ["contract.returns-at-the-end"]) { wire, request, receive in
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
        overlapping, unbounded,
    ]

    /// Calls `receive` for the second piece while it takes the first. Other transports start when that has happened.
    private static var overlapping: ConformanceFault {
        let isFirst = Lock(true), hasOverlapped = TestGate()
        return ConformanceFault("calls `receive` twice at once", fails: ["receive.one-at-a-time"]) {
            let isUnderTest = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return Faulty { wire, request, receive in
                guard isUnderTest else {
                    await hasOverlapped.wait()
                    return try await wire.send(request, receive: receive)
                }
                let first = Lock<Task<Void, any Error>?>(nil)
                try await wire.send(request) { event in
                    guard case .body = event else { return try await receive(event) }
                    if first.withLock({ $0 == nil }) {
                        first.withLock { $0 = Task { try await receive(event) } }
                    } else {
                        try await receive(event)
                        hasOverlapped.open()
                    }
                }
                try await first.withLock { $0 }?.value
            }
        }
    }

    /// Reads as fast as it can, and keeps the pieces in memory. Other transports start when it has the whole body.
    private static var unbounded: ConformanceFault {
        let isFirst = Lock(true), hasAll = TestGate()
        return ConformanceFault("has no back pressure", fails: ["receive.back-pressure"]) {
            let isUnderTest = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return Faulty { wire, request, receive in
                guard isUnderTest else {
                    await hasAll.wait()
                    return try await wire.send(request, receive: receive)
                }
                let (events, queue) = AsyncStream<TransportEvent>.makeStream()
                async let sent: Void = {
                    defer {
                        hasAll.open()
                        queue.finish()
                    }
                    try await wire.send(request) { queue.yield($0) }
                }()
                for await event in events { try await receive(event) }
                try await sent
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
        .endless(
            "cannot be shut down",
            fails: ["shutdown.connections", "shutdown.in-flight", "shutdown.later", "shutdown.twice", "shutdown.unused"]
        ) {
            var transport = Faulty { try await $0.send($1, receive: $2) }
            transport.onShutdown = { _ in }
            return transport
        },
        .endless("sends one request at a time", fails: ["load.at-once"]) {
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
