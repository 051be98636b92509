#if os(Linux)
import Foundation
import NessLock
import NessPromise

/// The engines of one transport, each with its own thread and connections.
///
/// One thread serves some 40,000 small requests a second. Then it is busy, while other cores may be idle.
final class CurlEngines: Sendable {
    private struct State: Sendable {
        /// The engines. `nil` for those that have not been used.
        var engines: [CurlEngine?]
        var isStopping = false
    }

    /// The number of engines: one for each core, but at most eight. More than two cores have not been measured.
    static let defaultCount = max(1, min(ProcessInfo.processInfo.activeProcessorCount, 8))
    /// The number of exchanges with an origin that an engine takes before the next engine is used: see `CurlShares`. On two cores a second
    /// thread gains a tenth with 16 exchanges in flight, and nothing with eight.
    private static let share = 8
    /// The same number where HTTP/2 may be used. libcurl sends at most this many concurrent requests on one connection.
    private static let multiplexedShare = 100

    let settings: CurlSettings
    private let idleLimit: Duration
    let shares: CurlShares
    private let state: Lock<State>

    /// Makes a set of at most `count` engines. Each engine is made when it is first needed.
    init(_ settings: CurlSettings, count: Int = defaultCount, idleLimit: Duration = CurlEngine.defaultIdleLimit) {
        self.settings = settings
        self.idleLimit = idleLimit
        shares = CurlShares(engineCount: count)
        state = Lock(State(engines: Array(repeating: nil, count: count)))
    }

    /// Returns the engine for an exchange, which must then be started there. Safe from any thread.
    /// - Throws: `TransportError` if the transport has been shut down, or if an engine cannot be made.
    func engine(for exchange: CurlExchange) throws -> CurlEngine {
        let group = exchange.group
        let share = exchange.isSecure && settings.allowsHTTP2 ? Self.multiplexedShare : Self.share
        let index = shares.enter(group, share: share)
        do {
            return try state.withLock { state in
                if state.isStopping { throw TransportError.afterShutdown }
                if let engine = state.engines[index] { return engine }
                let engine = CurlEngine(settings, idleLimit: idleLimit) { [shares] exchange in
                    shares.leave(exchange.group, at: index)
                }
                guard let engine else { throw TransportError(.cannotConnect, "the system has no memory or no descriptor left") }
                state.engines[index] = engine
                return engine
            }
        } catch {
            shares.leave(group, at: index)
            throw error
        }
    }

    /// Ends the threads. Exchanges in flight end with `CancellationError`.
    func stop() {
        let engines = state.withLock { state in
            state.isStopping = true
            return state.engines
        }
        for engine in engines { engine?.stop() }
    }

    /// Waits until the threads have closed every connection. Call this after `stop()`.
    func waitUntilClosed() async {
        for engine in state.withLock(\.engines) { await engine?.waitUntilClosed() }
    }
}
#endif
