import Foundation
import NessHTTP
import NessLock
import NessTesting

extension ConformanceFault {
    /// Sends a request in a task that a cancellation does not reach.
    private static func sendDetached(
        _ wire: any Transport, _ request: HTTPRequest, _ receive: @escaping Receive
    ) -> Task<Void, any Error> {
        Task.detached { try await wire.send(request, receive: receive) }
    }

    /// Faults of cancellation.
    static let cancels: [ConformanceFault] = [
        .errors(
            "reports cancellations as timeouts",
            fails: [
                "cancel.before-start", "cancel.in-handshake", "cancel.before-head", "cancel.in-head", "cancel.in-body", "cancel.in-flood",
                "cancel.in-upload", "cancel.no-late-event", "cancel.inside-receive", "cancel.during-receive", "cancel.others",
            ]
        ) { error, _ in
            error is CancellationError ? TransportError.timedOut : error
        },
        ConformanceFault(
            "heeds no cancellation", fails: ["cancel.before-head", "cancel.in-body", "cancel.in-upload", "cancel.in-handshake"],
            isEndless: true
        ) { try await sendDetached($0, $1, $2).value },
        ConformanceFault(
            "leaves the connection open", fails: ["cancel.before-head", "cancel.in-head", "cancel.in-flood", "cancel.in-body"],
            isEndless: true
        ) { wire, request, receive in
            let ended = Lock<Result<Void, any Error>?>(nil), changed = ChangeSignal()
            let task = sendDetached(wire, request, receive)
            Task {
                let result = await task.result
                ended.withLock { $0 = result }
                changed.notify()
            }
            await changed.wait { ended.withLock { $0 != nil } }
            try ended.withLock { $0 }?.get()
            if ended.withLock({ $0 == nil }) { throw CancellationError() }
        },
        ConformanceFault("sends although it is cancelled", fails: ["cancel.before-start"]) { wire, request, receive in
            guard Task.isCancelled else { return try await wire.send(request, receive: receive) }
            _ = await sendDetached(wire, request) { _ in }.result
            throw CancellationError()
        },
        ConformanceFault("reports an event after the end", fails: ["cancel.no-late-event"]) {
            let last = Lock<Receive?>(nil)
            var transport = Faulty { wire, request, receive in
                do {
                    try await wire.send(request, receive: receive)
                } catch is CancellationError {
                    last.withLock { $0 = receive }
                    throw CancellationError()
                }
            }
            transport.onShutdown = { wire in
                await wire.shutdown()
                try? await last.withLock { $0 }?(.body(Data()))
            }
            return transport
        },
        ConformanceFault("reports an event after a cancellation", fails: ["cancel.inside-receive"]) { wire, request, receive in
            try await wire.send(request) { event in
                try await receive(event)
                if case .body = event { return }
                if Task.isCancelled { try await receive(.body(Data())) }
            }
        },
        ConformanceFault("cancels all exchanges", fails: ["cancel.others"]) {
            let tasks = Lock<[Task<Void, any Error>]>([])
            return Faulty { wire, request, receive in
                // Otherwise the detached task might send before it is canceled.
                try Task.checkCancellation()
                // The task sends nothing before a cancellation can reach it: its `receive` may be what cancels.
                let isReachable = TestGate()
                let task = Task.detached {
                    await isReachable.wait()
                    try await wire.send(request, receive: receive)
                }
                tasks.withLock { $0.append(task) }
                try await withTaskCancellationHandler {
                    isReachable.open()
                    try await task.value
                } onCancel: {
                    for task in tasks.withLock({ $0 }) { task.cancel() }
                }
            }
        },
        ConformanceFault(
            "heeds no cancellation, and loses a byte", fails: ["cancel.at-the-end", "cancel.at-any-moment"]
        ) { wire, request, receive in
            try await sendDetached(wire, request) { event in
                if case .body(let data) = event { try await receive(.body(data.dropLast())) } else { try await receive(event) }
            }.value
        },
    ]
}
