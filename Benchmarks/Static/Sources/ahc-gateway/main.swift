// Passes each request on to an upstream, without its header fields and its body, and streams the response. It has no logs, metrics and traces.
//   ahc-gateway --port PORT UPSTREAM
import AsyncHTTPClient
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix

var arguments = CommandLine.arguments.dropFirst()
var port = 8_080
var target = ""
while let argument = arguments.popFirst() {
    if argument == "--port" { port = arguments.popFirst().flatMap { Int($0) } ?? 0 } else { target = argument }
}
let upstream = target
var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1_000
let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
let channels = HTTP1Channel(responder: { request, writer, _ in
    var outgoing = HTTPClientRequest(url: upstream + (request.head.path ?? "/"))
    outgoing.method = .RAW(value: request.method.rawValue)
    let response = try await client.execute(outgoing, timeout: .seconds(600))
    var head = HTTPResponse(status: .init(code: Int(response.status.code)))
    if let length = response.headers.first(name: "content-length") { head.headerFields[.contentLength] = length }
    var body = try await writer.writeHead(head)
    for try await chunk in response.body { try await body.write(chunk) }
    try await body.finish(nil)
})
let server = Server(
    childChannelSetup: channels, configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: port)),
    eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "ahc-gateway"))
try await server.run()
