import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The page that Prometheus reads. It has its own port, because `/metrics` of the proxy is a path of the upstream.
public enum MetricsPage {
    /// Makes a server that has the page at `/metrics`.
    /// - Parameters:
    ///   - host: The address to listen at.
    ///   - port: The port; 0 for one that the system picks.
    ///   - logger: The logger of Hummingbird.
    ///   - text: Returns the metrics in Prometheus's text format.
    ///   - onRunning: Runs with the port, once the server listens.
    public static func service(
        host: String, port: Int, logger: Logger, text: @escaping @Sendable () -> String,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> any Service {
        let channels = HTTP1Channel(responder: { request, writer, _ in
            guard request.method == .get, request.uri.path == "/metrics" else {
                return try await writer.writeResponse(HTTPResponse(status: .notFound, headerFields: [.contentLength: "0"]))
            }
            let body = ByteBuffer(string: text())
            let fields: HTTPFields = [.contentType: "text/plain; version=0.0.4", .contentLength: "\(body.readableBytes)"]
            try await writer.write(response: HTTPResponse(status: .ok, headerFields: fields), body: ResponseBody(byteBuffer: body))
        })
        return Server(
            childChannelSetup: channels, configuration: ServerConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { await onRunning($0.localAddress?.port ?? port) }, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger)
    }
}
