import HummingbirdCore
import Logging
import NIOPosix
import NessServiceLifecycle
import ServiceLifecycle

extension ReverseProxy {
    /// Makes the services that run this proxy, for a `ServiceGroup`.
    ///
    /// The group shuts the last one down first. The server then accepts no connection, and returns once its requests have ended. After it
    /// the client closes its connections to the upstream.
    /// - Parameters:
    ///   - host: The address to listen at.
    ///   - port: The port; 0 for one that the system picks.
    ///   - onRunning: Runs with the port, once the server listens.
    public func services(host: String, port: Int, onRunning: @escaping @Sendable (Int) async -> Void = { _ in }) -> [any Service] {
        // Longer than the upstream's timeout, so that a client that stalls gets a 408 before.
        let channels = HTTP1Channel(
            responder: respond, configuration: .init(additionalChannelHandlers: [ClientWatch()], idleTimeout: .seconds(75)))
        // It is built from Hummingbird's core. An `Application` would replace the upstream's `Date`, and could send neither interim
        // responses nor the end of a client to the proxy.
        let server = Server(
            childChannelSetup: channels, configuration: ServerConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { await onRunning($0.localAddress?.port ?? port) }, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger)
        return [NessService(ness), server]
    }
}
