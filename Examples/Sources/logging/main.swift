import Foundation
import NessHTTP
import Synchronization

let usage = """
    usage: logging URL…
    Sends a GET to each URL, all in one trace. Logs to the standard error, and prints the metrics at the end.
    Exit codes: 0 each URL answered with a 2xx, 1 one did not, 2 wrong arguments.

    """

func write(_ text: String, to file: FileHandle) { try? file.write(contentsOf: Data(text.utf8)) }

/// Counters and sums, each under the name of its time series.
final class Metrics: Sendable {
    let values = Mutex<[String: Double]>([:])
    func add(_ value: Double, to label: String, _ dimensions: [(String, String)]) {
        let series = "\(label){\(dimensions.map { "\($0)=\"\($1)\"" }.joined(separator: ","))}"
        values.withLock { $0[series, default: 0] += value }
    }
}

let urls = CommandLine.arguments.dropFirst()
let option = urls.first { $0.hasPrefix("-") }
if option == "-h" || option == "--help" {
    write(usage, to: .standardOutput)
    exit(0)
} else if option != nil || urls.isEmpty {
    write("logging: \(option.map { "\($0) is not an option" } ?? "there is no URL")\n\(usage)", to: .standardError)
    exit(2)
}

let metrics = Metrics()
let telemetry = Telemetry { level, message, metadata in
    write("\(level) \(message) \(metadata.map { "\($0)=\($1)" }.joined(separator: " "))\n", to: .standardError)
} count: { label, dimensions in
    metrics.add(1, to: label, dimensions)
} record: { label, dimensions, duration in
    metrics.add(duration / .seconds(1), to: label + "_sum", dimensions)
    metrics.add(1, to: label + "_count", dimensions)
}
let ness = Ness {
    $0.observers = [telemetry]
    $0.insert(TraceContext(), at: .exchange)
    $0.retryControl = BackoffRetryControl(maxRetryCount: 3)
}

let trace = Trace()
let requests = urls.map { ness.get($0).set(option: Trace.self, to: trace).validate().dataRequest() }
var failed = 0
for request in requests { if case .failure = await request.settled { failed += 1 } }
// The observers have heard of the end before the caller does, so the metrics are complete.
for (series, value) in metrics.values.withLock({ $0 }).sorted(by: { $0.key < $1.key }) { print(series, value) }
exit(failed == 0 ? 0 : 1)
