import Foundation

/// Lets only so many exchanges run at once with each origin; the others wait their turn, first in, first out.
///
/// A request that is dropped while it waits leaves at once. One that is dropped later keeps its place until the transport has let go of the
/// connection, while its caller has long gone on. Timeouts do not count the wait: they begin below this stage.
final class HostQueue: OptionalStage {
    private struct Host: Sendable {
        var running = 0
        var waiting: [Ticket] = []
    }

    /// A place in the queue.
    private struct Ticket: Sendable {
        let id: Int
        let continuation: UnsafeContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var nextID = 0
        var hosts: [String: Host] = [:]
        /// Cancelled before they had a place.
        var cancelled: Set<Int> = []
        var limit: Int

        /// Takes a place, if there is one.
        mutating func take(_ origin: String) -> Bool {
            guard hosts[origin, default: Host()].running < limit else { return false }
            hosts[origin, default: Host()].running += 1
            return true
        }
    }

    private let state: Lock<State>

    init(limit: Int) { state = Lock(State(limit: max(1, limit))) }

    /// How many exchanges run at once with each origin; none where it is 0. More begin at once when it is raised; what runs goes on when
    /// it is lowered.
    var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            let admitted = state.withLock { state in
                state.limit = max(0, newValue)
                var admitted: [Ticket] = []
                for origin in state.hosts.keys {
                    while state.hosts[origin]?.waiting.isEmpty == false, state.take(origin) {
                        if let ticket = state.hosts[origin]?.waiting.removeFirst() { admitted.append(ticket) }
                    }
                }
                return admitted
            }
            for ticket in admitted { ticket.continuation.resume() }
        }
    }

    func isNeeded(by request: HTTPRequest) -> Bool { !request[BypassesThrottle.self] }

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        let origin = Self.origin(of: request.url)
        try await enter(origin)
        let place = ExchangePlace { [self] in leave(origin) }
        defer { place.close() }
        var request = request
        request.place = place
        return try await next(request)
    }

    static func origin(of url: URL) -> String { ParsedURL(url).origin.description }

    private func enter(_ origin: String) async throws {
        let id: Int? = state.withLock { state in
            if state.take(origin) { return nil }
            state.nextID += 1
            return state.nextID
        }
        guard let id else { return }
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                wait(Ticket(id: id, continuation: continuation), origin)
            }
        } onCancel: {
            cancel(id, origin)
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    private func wait(_ ticket: Ticket, _ origin: String) {
        enum Outcome: Sendable { case waiting, cancelled, running }
        let outcome: Outcome = state.withLock { state in
            if state.cancelled.remove(ticket.id) != nil { return .cancelled }
            // A place may have become free since.
            if state.take(origin) { return .running }
            state.hosts[origin, default: Host()].waiting.append(ticket)
            return .waiting
        }
        switch outcome {
        case .waiting: break
        case .running: ticket.continuation.resume()
        case .cancelled: ticket.continuation.resume(throwing: CancellationError())
        }
    }

    private func cancel(_ id: Int, _ origin: String) {
        let ticket: Ticket? = state.withLock { state in
            if let index = state.hosts[origin]?.waiting.firstIndex(where: { $0.id == id }) {
                return state.hosts[origin]?.waiting.remove(at: index)
            }
            state.cancelled.insert(id)
            return nil
        }
        ticket?.continuation.resume(throwing: CancellationError())
    }

    /// Frees a place: it goes to the one who has waited longest.
    private func leave(_ origin: String) {
        let next: Ticket? = state.withLock { state in
            guard var host = state.hosts[origin] else { return nil }
            let next = host.waiting.isEmpty || host.running > state.limit ? nil : host.waiting.removeFirst()
            if next == nil { host.running -= 1 }
            state.hosts[origin] = host.running == 0 && host.waiting.isEmpty ? nil : host
            return next
        }
        next?.continuation.resume()
    }
}
