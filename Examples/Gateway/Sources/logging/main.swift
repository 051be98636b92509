import Foundation
import Logging
import Metrics
import NessHTTP
import NessLogging
import NessMetrics
import NessTracing
import Telemetry
import Tracing

let usage = """
    usage: logging URL…
    Sends a GET to each URL, all in one trace. Logs to the standard error, and prints the metrics at the end.
    Exit codes: 0 each URL answered with a 2xx, 1 one did not, 2 wrong arguments.

    """

func write(_ text: String, to file: FileHandle) { try? file.write(contentsOf: Data(text.utf8)) }

let urls = CommandLine.arguments.dropFirst()
let option = urls.first { $0.hasPrefix("-") }
if option == "-h" || option == "--help" {
    write(usage, to: .standardOutput)
    exit(0)
} else if option != nil || urls.isEmpty {
    write("logging: \(option.map { "\($0) is not an option" } ?? "there is no URL")\n\(usage)", to: .standardError)
    exit(2)
}

// A program chooses the receivers of logs, metrics and spans once, before anything else uses them.
LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: LogTracer.metadataProvider)
let metrics = PrometheusMetrics()
MetricsSystem.bootstrap(metrics)
InstrumentationSystem.bootstrap(LogTracer(Logger(label: "trace")))

let ness = Ness {
    $0.log(to: Logger(label: "http"))
    $0.measure()
    $0.trace()
    $0.retryControl = BackoffRetryControl(maxRetryCount: 3)
}
let failed = await withSpan("logging") { _ in
    let requests = urls.map { ness.get($0).validate().dataRequest() }
    var failed = 0
    for request in requests { if case .failure = await request.settled { failed += 1 } }
    return failed
}
// The observers have heard of the end before the caller does, so the metrics are complete.
write(metrics.text, to: .standardOutput)
exit(failed == 0 ? 0 : 1)
