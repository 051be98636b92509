import Foundation
import Logging
import Metrics
import NIOCore
import NIOPosix
import NessHTTP
import NessTesting
import ReverseProxy
import ServiceLifecycle
import Tracing

/// Runs a proxy on loopback during a test.
///
/// The suites that call this function are serialized. If all cases ran concurrently, they would open 2,000 descriptors. With more than
/// 1,350 open descriptors, Foundation's `Process` reads past the end of a buffer and may crash.
func withProxy(
    to upstream: String, slowestBody: BodyRate? = BodyRate(), telemetry: Receivers = Receivers(),
    _ configure: (inout Ness.Configuration) -> Void = { _ in }, _ body: @escaping @Sendable (_ port: Int) async throws -> Void
) async throws {
    guard let upstream = Upstream(upstream) else { throw NotAnUpstream() }
    let proxy = ReverseProxy(
        to: upstream, slowestBody: slowestBody, logger: telemetry.logger, metrics: telemetry.metrics, tracer: telemetry.tracer, configure)
    let (ports, found) = AsyncStream<Int>.makeStream()
    let services = proxy.services(host: "127.0.0.1", port: 0) { found.yield($0) }
    let group = ServiceGroup(configuration: .init(services: services, logger: telemetry.logger))
    let running = Task { try await group.run() }
    var iterator = ports.makeAsyncIterator()
    guard let port = await iterator.next() else { return }
    // In a task, so that an error of the test ends the server, too.
    let result = await Task { try await body(port) }.result
    running.cancel()
    try await running.value
    try result.get()
}

/// The receivers of a proxy's logs, metrics and spans. By default they receive nothing.
struct Receivers: Sendable {
    var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    var metrics: any MetricsFactory = NOOPMetricsHandler.instance
    var tracer: any Tracer = NoOpTracer()
}

/// Runs a server and a proxy to it.
func withUpstream(
    telemetry: Receivers = Receivers(), _ configure: (inout Ness.Configuration) -> Void = { _ in },
    _ handler: @escaping TestServer.Handler,
    _ body: @escaping @Sendable (_ port: Int, _ server: TestServer) async throws -> Void
) async throws {
    let server = try await TestServer.start(handler)
    try await withProxy(to: server.url.absoluteString, telemetry: telemetry, configure) { try await body($0, server) }
    await server.stop()
}

struct NotAnUpstream: Error {}

/// A connection on which a test sends and receives its own bytes.
struct RawClient {
    var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private(set) var received = ""

    /// Connects to a port of this machine, and closes the connection afterwards.
    static func run(_ port: Int, _ body: @Sendable (inout RawClient) async throws -> Void) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(host: "127.0.0.1", port: port) {
            channel in
            channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel) }
        }
        try await channel.executeThenClose { inbound, outbound in
            var client = RawClient(inbound: inbound.makeAsyncIterator(), outbound: outbound)
            try await body(&client)
        }
    }

    func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

    /// Reads until a text has arrived, or to the end.
    /// - Returns: All that was read since the last call.
    mutating func read(until text: String) async -> String {
        while !received.contains(text), let piece = try? await inbound.next() { received += String(buffer: piece) }
        defer { received = "" }
        return received
    }

    /// Reads to the end of the connection.
    mutating func readAll() async -> String { await read(until: "\u{0}") }
}

/// Sends bytes on a connection.
/// - Parameters:
///   - port: The port of the proxy.
///   - text: The bytes.
///   - end: The end of the answer; `nil` for the end of the connection.
/// - Returns: The answer.
func exchange(_ port: Int, _ text: String, until end: String? = nil) async throws -> String {
    let answer = TestValue("")
    try await RawClient.run(port) { client in
        try await client.send(text)
        let received = if let end { await client.read(until: end) } else { await client.readAll() }
        answer.set(received)
    }
    return answer.value
}

/// A client without retries and redirects.
func makeClient(_ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Ness {
    Ness(.server) {
        $0.redirects = .stop
        $0.retryControl = nil
        configure(&$0)
    }
}
