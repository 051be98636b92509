import Foundation
import Logging
import Metrics
import ReverseProxy
import ServiceLifecycle
import Telemetry
import Tracing

let usage = """
    usage: gateway [--host ADDRESS] [--port PORT] [--connections NUMBER] [--metrics-port PORT] [--trace] UPSTREAM
    Passes every request to the server at the URL UPSTREAM, and its response back. Listens at 127.0.0.1:8080 by default.
    Logs each request to the standard error.
      --connections NUMBER  opens at most so many connections to the upstream, 256 by default
      --metrics-port PORT   serves metrics for Prometheus at /metrics of another port
      --trace               logs each span, and passes the trace on as traceparent
    Exit codes: 0 ended by Ctrl-C or SIGTERM, after the running requests or 30 seconds; 1 failed; 2 wrong arguments.

    """

func fail(_ text: String, code: Int32) -> Never {
    try? FileHandle.standardError.write(contentsOf: Data("gateway: \(text)\n".utf8))
    exit(code)
}

func number(_ option: String, _ value: String?) -> Int {
    guard let value = value.flatMap({ UInt16($0) }) else { fail("\(option) needs a number\n\(usage)", code: 2) }
    return Int(value)
}

func announce(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8)) }

var host = "127.0.0.1"
var port = 8_080
var connections = 256
var metricsPort: Int?
var isTracing = false
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
    case "--port": port = number(argument, arguments.popFirst())
    case "--connections": connections = number(argument, arguments.popFirst())
    case "--metrics-port": metricsPort = number(argument, arguments.popFirst())
    case "--trace": isTracing = true
    case _ where argument.hasPrefix("-"): fail("\(argument) is not an option\n\(usage)", code: 2)
    default: target = argument
    }
}
guard let target else { fail("there is no upstream\n\(usage)", code: 2) }
guard let upstream = Upstream(target) else { fail("\(target) is not the URL of a server", code: 2) }

LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: LogTracer.metadataProvider)
let metrics = PrometheusMetrics()
MetricsSystem.bootstrap(metrics)
if isTracing { InstrumentationSystem.bootstrap(LogTracer(Logger(label: "trace"))) }

let logger = Logger(label: "gateway")
let proxy = ReverseProxy(to: upstream, logger: logger) {
    $0.maximumConnectionsPerHost = connections
    $0.circuitBreaker = .init()
}
var services = proxy.services(host: host, port: port) { [host] in announce("http://\(host):\($0) → \(target)") }
if let metricsPort {
    // The first service is shut down last.
    let page = MetricsPage.service(host: host, port: metricsPort, logger: logger) {
        metrics.text
    } onRunning: { [host] in
        announce("metrics at http://\(host):\($0)/metrics")
    }
    services.insert(page, at: 0)
}
var configuration = ServiceGroupConfiguration(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
configuration.maximumGracefulShutdownDuration = .seconds(30)
do {
    try await ServiceGroup(configuration: configuration).run()
} catch {
    fail("\(error)", code: 1)
}
