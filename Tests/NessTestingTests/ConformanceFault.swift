import Foundation
import NessHTTP
import NessLock
import NessTesting

/// A transport that is wrong in one way, with the checks that have to notice it.
struct ConformanceFault: Sendable, CustomStringConvertible {
    typealias Receive = @Sendable (TransportEvent) async throws -> Void
    typealias Send = @Sendable (_ wire: any Transport, _ request: HTTPRequest, _ receive: @escaping Receive) async throws -> Void

    let name: String
    /// The checks that fail because of this fault.
    let fails: Set<TransportConformance.ID>
    /// The same checks, which are run.
    let checks: [TransportConformance.Check]
    /// The longest time for a check. Short for a fault that never ends.
    let watchdog: Duration
    /// Makes a transport.
    let make: @Sendable () -> any Transport

    var description: String { name }

    /// A fault that a transport of its own has.
    /// - Parameter isEndless: True if the fault never ends, so that the watchdog notices it.
    init(_ name: String, fails: [TransportConformance.ID], isEndless: Bool = false, make: @escaping @Sendable () -> any Transport) {
        self.name = name
        self.fails = Set(fails)
        checks = TransportConformance.checks.filter { fails.contains($0.id) }
        watchdog = isEndless ? .milliseconds(300) : .seconds(240)
        self.make = make
    }

    /// A fault of `send`, over a transport that is right.
    init(_ name: String, fails: [TransportConformance.ID], isEndless: Bool = false, send: @escaping Send) {
        self.init(name, fails: fails, isEndless: isEndless) { Faulty(send: send) }
    }

    /// A fault in the request that is sent.
    static func request(
        _ name: String, fails: [TransportConformance.ID], change: @escaping @Sendable (inout HTTPRequest) -> Void
    ) -> ConformanceFault {
        ConformanceFault(name, fails: fails) { wire, request, receive in
            var request = request
            change(&request)
            try await wire.send(request, receive: receive)
        }
    }

    /// A fault in the events: each becomes any number of others.
    static func events(
        _ name: String, fails: [TransportConformance.ID],
        change: @escaping @Sendable (HTTPRequest, TransportEvent) throws -> [TransportEvent]
    ) -> ConformanceFault {
        ConformanceFault(name, fails: fails) { wire, request, receive in
            try await wire.send(request) { event in
                for event in try change(request, event) { try await receive(event) }
            }
        }
    }

    /// A fault in the head of the response.
    static func head(
        _ name: String, fails: [TransportConformance.ID],
        change: @escaping @Sendable (_ statusCode: inout Int, _ headers: inout HTTPHeaders) throws -> Void
    ) -> ConformanceFault {
        .events(name, fails: fails) { _, event in
            guard case .head(var statusCode, var headers) = event else { return [event] }
            try change(&statusCode, &headers)
            return [.head(statusCode: statusCode, headers: headers)]
        }
    }

    /// A fault in the errors: one becomes another, or, with `nil`, success.
    static func errors(
        _ name: String, fails: [TransportConformance.ID],
        change: @escaping @Sendable (_ error: any Error, _ headers: HTTPHeaders?) -> (any Error)?
    ) -> ConformanceFault {
        ConformanceFault(name, fails: fails) { wire, request, receive in
            let head = Lock<HTTPHeaders?>(nil)
            do {
                try await wire.send(request) { event in
                    if case .head(_, let headers) = event { head.withLock { $0 = headers } }
                    try await receive(event)
                }
            } catch {
                guard let changed = change(error, head.withLock { $0 }) else {
                    if head.withLock({ $0 == nil }) { try await receive(.head(statusCode: 200, headers: [:])) }
                    return
                }
                throw changed
            }
        }
    }

    /// Makes the transport below.
    static func makeWire() -> any Transport {
        #if canImport(FoundationNetworking)
        // On fresh connections, no request fails of itself.
        if let transport = try? CurlTransport({ $0.maximumIdleTimeForWrites = .zero }) { return transport }
        #endif
        return URLSessionTransport()
    }
}

/// A transport that is right, with a closure between it and the suite.
struct Faulty: Transport {
    var wire = ConformanceFault.makeWire()
    let send: ConformanceFault.Send
    var onShutdown: @Sendable (any Transport) async -> Void = { await $0.shutdown() }

    var keepsContentCoding: Bool { wire.keepsContentCoding }

    func send(_ request: HTTPRequest, receive: @escaping ConformanceFault.Receive) async throws {
        try await send(wire, request, receive)
    }

    func shutdown() async { await onShutdown(wire) }
}
