#if canImport(CNessCurl)
import CNessCurl

/// A transport over libcurl itself, for Linux.
///
/// It uses the libcurl that Foundation has loaded already, so nothing has to be installed. One thread drives all exchanges of a transport; it
/// starts with the first and ends with the transport. Events reach `receive` in the task that called `send`: a receiver that takes its time
/// holds the server back.
///
/// A request that must not be sent twice never is: libcurl would repeat it on its own when a kept connection turns out to be dead, and is
/// stopped from that.
public final class CurlTransport: Transport {
    private let engine: CurlEngine

    /// Makes a transport; nil where the process has no libcurl, or one before 7.80.
    public init?() {
        guard CurlLibrary.shared != nil, let engine = CurlEngine() else { return nil }
        self.engine = engine
    }

    deinit { engine.stop() }

    /// The version of libcurl and of its TLS library, in libcurl's words; nil where there is none that can be used.
    public static var libraryVersion: String? { CurlLibrary.shared?.description }

    /// True: the body is handed on with its content coding where the request's option `KeepsContentCoding` says so.
    public var keepsContentCoding: Bool { true }

    /// Ends the exchanges in flight with `CancellationError`, closes all connections, and returns when the thread has ended.
    public func shutdown() async {
        engine.stop()
        await engine.waitUntilClosed()
    }

    /// Sends a request and reports what comes back. The events come in the calling task.
    /// - Parameters:
    ///   - request: The request.
    ///   - receive: Takes the events, in order.
    /// - Throws: `TransportError`, what `receive` threw, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        try Task.checkCancellation()
        let exchange = CurlExchange(request)
        try await withTaskCancellationHandler {
            guard engine.post(.start(exchange)) else { throw TransportError(.invalidRequest, "the transport has been shut down") }
            do {
                while true {
                    let batch = await exchange.mailbox.next()
                    if batch.goesOn { engine.post(.resume(exchange)) }
                    for event in batch.events {
                        try receive(event)
                        if exchange.mailbox.wasCancelled { throw CancellationError() }
                    }
                    if let end = batch.end { return try end.get() }
                }
            } catch {
                // Harmless where the exchange has ended by itself.
                engine.post(.cancel(exchange))
                exchange.mailbox.cancel(error)
                throw error
            }
        } onCancel: {
            exchange.mailbox.cancel(CancellationError())
            engine.post(.cancel(exchange))
        }
    }
}
#endif
