import Foundation
import Logging
import ReverseProxy
import ServiceLifecycle

let usage = """
    usage: gateway [--host ADDRESS] [--port PORT] UPSTREAM
    Passes every request to the server at the URL UPSTREAM, and its response back. Listens at 127.0.0.1:8080 by default.
    Exit codes: 0 ended by Ctrl-C, 1 failed, 2 wrong arguments.

    """

func fail(_ text: String, code: Int32) -> Never {
    try? FileHandle.standardError.write(contentsOf: Data("gateway: \(text)\n".utf8))
    exit(code)
}

var host = "127.0.0.1"
var port = 8_080
var target: String?
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "-h", "--help":
        print(usage, terminator: "")
        exit(0)
    case "--host":
        guard let value = arguments.popFirst() else { fail("--host needs a value\n\(usage)", code: 2) }
        host = value
    case "--port":
        guard let value = arguments.popFirst().flatMap({ UInt16($0) }) else { fail("--port needs a number\n\(usage)", code: 2) }
        port = Int(value)
    case _ where argument.hasPrefix("-"): fail("\(argument) is not an option\n\(usage)", code: 2)
    default: target = argument
    }
}
guard let target else { fail("there is no upstream\n\(usage)", code: 2) }
guard let upstream = Upstream(target) else { fail("\(target) is not the URL of a server", code: 2) }

let proxy = ReverseProxy(to: upstream) { $0.circuitBreaker = .init() }
var logger = Logger(label: "gateway")
logger.logLevel = .warning
let server = proxy.server(host: host, port: port, logger: logger) { [host] port in
    try? FileHandle.standardOutput.write(contentsOf: Data("http://\(host):\(port) → \(target)\n".utf8))
}
do {
    try await ServiceGroup(services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
} catch {
    fail("\(error)", code: 1)
}
await proxy.shutdown()
