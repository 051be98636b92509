import HummingbirdCore
import Logging
import NIOPosix

extension ReverseProxy {
    /// The name of a server that runs a proxy.
    public typealias Service = Server<HTTP1Channel>

    /// Makes a server that handles its requests with this proxy.
    ///
    /// It is built from Hummingbird's core. An `Application` would replace the upstream's `Date`, and could send neither interim responses
    /// nor the end of a client to the proxy.
    /// - Parameters:
    ///   - host: The address to listen at.
    ///   - port: The port; 0 for one that the system picks.
    ///   - logger: The logger of Hummingbird.
    ///   - onRunning: Runs with the port, once the server listens.
    public func server(
        host: String, port: Int, logger: Logger, onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> Service {
        // Longer than the upstream's timeout, so that a client that stalls gets a 408 before.
        let channels = HTTP1Channel(
            responder: respond, configuration: .init(additionalChannelHandlers: [ClientWatch()], idleTimeout: .seconds(75)))
        return Server(
            childChannelSetup: channels, configuration: ServerConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { await onRunning($0.localAddress?.port ?? port) }, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger)
    }
}
