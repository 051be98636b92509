import Dispatch
import Foundation
import NessHTTP
import NessLock

/// The surroundings of one check: its transports, servers and exchanges, and the problems that it found.
final class CheckContext: Sendable {
    private struct State: Sendable {
        var transports: [any Transport] = []
        var servers: [TestServer] = []
        var exchanges: [CheckedExchange] = []
        var holds: [ReceiveHold] = []
        var problems: [String] = []
        var hasEnded = false
    }

    /// An error of the check itself.
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    private let make: @Sendable () async throws -> (any Transport)?
    private let authority: TestAuthority?
    private let state = Lock(State())
    private let changed = ChangeSignal()

    init(_ make: @escaping @Sendable () async throws -> (any Transport)?, authority: TestAuthority?) {
        self.make = make
        self.authority = authority
    }

    // MARK: the run

    /// Runs a check.
    /// - Parameters:
    ///   - check: The check.
    ///   - watchdog: The longest real time.
    /// - Returns: The problems. Empty if the check passed.
    func problems(of check: TransportConformance.Check, within watchdog: Duration) async -> [String] {
        let work = Task {
            do {
                _ = try await makeTransport()
                try await check.body(self)
            } catch {
                fail("the check ended with \(error)")
            }
            await cleanUp()
            finish()
        }
        let milliseconds = Int(watchdog.clampedForSleep / .milliseconds(1))
        let alarm = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "ness.conformance.watchdog"))
        alarm.schedule(deadline: .now() + .milliseconds(milliseconds))
        alarm.setEventHandler { [self] in
            guard !state.withLock({ $0.hasEnded }) else { return }
            fail("the check did not end within \(watchdog): \(running)")
            work.cancel()
            abandon()
            finish()
        }
        alarm.activate()
        await changed.wait(heedingCancellation: false) { state.withLock { $0.hasEnded } }
        alarm.cancel()
        return state.withLock { $0.problems }
    }

    private func finish() {
        state.withLock { $0.hasEnded = true }
        changed.notify()
    }

    /// The state of the exchanges, for the watchdog's problem.
    private var running: String {
        let open = state.withLock { $0.exchanges }.map(\.record).filter { $0.end == nil }
        return open.isEmpty ? "no exchange is running" : "\(open.count) running, among them \(open[0].summary)"
    }

    /// Ends everything that the check has started, and waits for it.
    private func cleanUp() async {
        let (exchanges, transports, servers) = state.withLock { ($0.exchanges, $0.transports, $0.servers) }
        stopExchanges()
        for exchange in exchanges { _ = await exchange.end() }
        for transport in transports { await transport.shutdown() }
        for server in servers { await server.stop() }
    }

    /// Ends everything that the check has started, as far as possible, without waiting for it.
    private func abandon() {
        let servers = state.withLock { $0.servers }
        stopExchanges()
        Task { for server in servers { await server.stop() } }
    }

    private func stopExchanges() {
        let (holds, exchanges) = state.withLock { ($0.holds, $0.exchanges) }
        for hold in holds { hold.release() }
        for exchange in exchanges { exchange.cancel() }
    }

    // MARK: transports, servers, exchanges

    /// The transport under test.
    var transport: any Transport { state.withLock { $0.transports.first } ?? UnmadeTransport() }

    /// Makes another transport.
    func makeTransport() async throws -> any Transport {
        guard let transport = try await make() else { throw Failed(description: "no transport, because the closure returned nil") }
        state.withLock { $0.transports.append(transport) }
        return transport
    }

    /// Starts a server that responds to requests. It is stopped after the check.
    func serve(isSecure: Bool = false, _ handler: @escaping TestServer.Handler) async throws -> TestServer {
        try await serve(isSecure ? certificate() : nil, handler)
    }

    /// Starts a server with a certificate. It is stopped after the check.
    func serve(_ certificate: TestCertificate?, _ handler: @escaping TestServer.Handler) async throws -> TestServer {
        kept(try await TestServer.start(certificate: certificate, handler))
    }

    /// Starts a server that runs a script on each connection. It is stopped after the check.
    func serve(
        isSecure: Bool = false, script: @escaping @Sendable (ConnectionInfo) -> [ConnectionStep]
    ) async throws -> TestServer {
        kept(try await TestServer.start(certificate: isSecure ? certificate() : nil, script: script))
    }

    private func kept(_ server: TestServer) -> TestServer {
        state.withLock { $0.servers.append(server) }
        return server
    }

    /// Makes a certificate that the transport trusts.
    func certificate(for hosts: [String] = ["localhost", "127.0.0.1"], until end: Duration = .seconds(172_800)) throws -> TestCertificate {
        guard let authority else { throw Failed(description: "there is no authority") }
        return try authority.certificate(for: hosts, until: end)
    }

    /// Starts an exchange over the transport under test, or over another. It is canceled after the check, if it has not ended.
    func start(
        _ request: HTTPRequest, over other: (any Transport)? = nil, isResolved: Bool = false, after start: TestGate? = nil,
        onEvent: @escaping @Sendable (CheckedExchange, TransportEvent) async throws -> Void = { _, _ in }
    ) -> CheckedExchange {
        let exchange = CheckedExchange(
            request, over: other ?? transport, isResolved: isResolved, after: start, onEvent: onEvent)
        state.withLock { $0.exchanges.append(exchange) }
        return exchange
    }

    /// Runs an exchange to its end.
    func run(_ request: HTTPRequest, over other: (any Transport)? = nil) async -> ExchangeRecord { await start(request, over: other).end() }

    /// Makes a hold for a call of `receive`. It is released after the check at the latest.
    func makeHold() -> ReceiveHold {
        let hold = ReceiveHold()
        state.withLock { $0.holds.append(hold) }
        return hold
    }

    // MARK: problems

    /// Records a problem. The first ten are kept.
    func fail(_ problem: String) {
        state.withLock { state in
            guard !state.hasEnded, state.problems.count < 10 else { return }
            state.problems.append(problem)
        }
    }
}

/// Holds a call of `receive` until it is released.
final class ReceiveHold: Sendable {
    /// Open once a call has arrived.
    let entered = TestGate()
    private let released = TestGate()

    /// Waits for the release.
    /// - Throws: `CancellationError` if the task is canceled, like the pipeline's `receive`.
    func wait() async throws {
        entered.open()
        await released.wait()
        try Task.checkCancellation()
    }

    /// Releases the present call and all later ones.
    func release() { released.open() }
}

/// Stands for the transport before it was made.
private struct UnmadeTransport: Transport {
    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        throw TransportError(.invalidRequest, "there is no transport")
    }
}
