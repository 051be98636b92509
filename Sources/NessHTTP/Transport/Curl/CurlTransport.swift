#if canImport(CNessCurl)
import CNessCurl

/// A transport that uses libcurl directly. It is the default on Linux.
///
/// It uses the libcurl that Foundation has already loaded, so that no installation is necessary. If the process has none, or one before
/// 7.80, a manager uses `URLSessionTransport` instead; `Ness.configuration.transport` tells which one it is. One thread drives all exchanges of a
/// transport. The thread starts with the first exchange and ends with the transport. Events reach `receive` in the task that called `send`:
/// a slow receiver slows the server down.
///
/// A body from a sequence or a file is read as the connection takes it. Without a known length it is sent in chunks over HTTP/1.1.
///
/// A request that must not be sent twice is never repeated. libcurl would repeat it when a kept-alive connection turns out to be dead; this
/// transport prevents that.
///
/// Without options, certificates are checked against the system's, proxies come from the environment, and HTTP/2 is used over TLS where the
/// server speaks it: see `Options`.
public final class CurlTransport: Transport, StoppableTransport {
    private let engine: CurlEngine

    /// Makes a transport. Fails if the process has no libcurl, or one before 7.80.
    public convenience init?() {
        do { try self.init { _ in } } catch { return nil }
    }

    /// Makes a transport with options.
    ///
    /// The options are checked at once: files are read, texts are parsed, and libcurl is asked for each feature. Only the first connection
    /// can tell if a key fits its certificate, if an encrypted key has the right password, and if a proxy, a unix socket or an interface
    /// exists.
    /// - Parameter configure: Changes the options. Runs during this call.
    /// - Throws: `OptionError`.
    public init(_ configure: (inout Options) -> Void) throws {
        var options = Options()
        configure(&options)
        guard let engine = CurlEngine(try CurlSettings(options)) else {
            throw OptionError(kind: .unsupported, option: "", reason: "libcurl has no memory")
        }
        self.engine = engine
    }

    deinit { engine.stop() }

    /// The version of libcurl and of its TLS library, as libcurl's text. `nil` if there is no usable libcurl.
    public static var libraryVersion: String? { CurlLibrary.shared?.description }

    /// True: a body keeps its content coding if the request has the option `KeepsContentCoding`.
    public var keepsContentCoding: Bool { true }

    /// All: a request's keys count besides those of the options, its authorities and its identity in place of theirs.
    public var tlsCapabilities: TLSCapabilities { .all }

    /// Ends the exchanges in flight with `CancellationError`, and returns when all connections are closed. The thread ends then.
    public func shutdown() async {
        engine.stop()
        await engine.waitUntilClosed()
    }

    /// Sends a request and reports the response. The events arrive in the calling task.
    /// - Parameters:
    ///   - request: The request.
    ///   - receive: Receives the events, in order.
    /// - Throws: `TransportError`, the error of `receive`, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try Task.checkCancellation()
        let exchange = try CurlExchange(request)
        request.control?.onStop { [engine] error in
            exchange.mailbox.cancel(error)
            engine.cancel(exchange)
        }
        try await withTaskCancellationHandler {
            try engine.start(exchange)
            do {
                try await exchange.mailbox.deliver(to: receive) { engine.resume(exchange) }
            } catch {
                // This has no effect if the exchange has already ended.
                engine.cancel(exchange)
                exchange.mailbox.cancel(error)
                throw error
            }
        } onCancel: {
            exchange.mailbox.cancel(CancellationError())
            engine.cancel(exchange)
        }
    }
}

extension CurlTransport: CustomStringConvertible {
    /// The name of the transport, with the versions of libcurl and of its TLS library.
    public var description: String { "CurlTransport (\(Self.libraryVersion ?? "no libcurl"))" }
}
#endif
