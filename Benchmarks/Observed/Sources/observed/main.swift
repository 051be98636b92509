// The instructions that logs, metrics and traces add to a GET over a transport that responds immediately. Called by `run`, under callgrind.
//   observed plain|observer|log|measure|trace|all|inspect COUNT
import Dispatch
import Foundation
import Logging
import Metrics
import NessHTTP
import NessInspector
import NessLogging
import NessMetrics
import NessTracing
import Tracing

/// Responds immediately.
struct Instant: Transport {
    private let body = Data(repeating: 7, count: 100)

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await receive(.head(statusCode: 200, headers: ["Content-Type": "application/json"]))
        try await receive(.body(body))
    }
}

/// An observer that does nothing.
struct Silent: RequestObserver {}

let arguments = CommandLine.arguments
guard arguments.count == 3, let count = Int(arguments[2]) else {
    print("usage: observed plain|observer|log|measure|trace|all|inspect COUNT")
    exit(2)
}

/// Makes the manager that is measured.
@Sendable func makeManager() async throws -> Ness {
    let inspector = arguments[1] == "inspect" ? try await Inspector.start { _ in } : nil
    return Ness { configuration in
        configuration.transport = Instant()
        var logger = Logger(label: "observed")
        // As in production: a line for each failure, none for each success.
        logger.logLevel = .warning
        switch arguments[1] {
        case "observer": configuration.observers = [Silent()]
        case "log": configuration.log(to: logger)
        case "measure": configuration.measure(with: NOOPMetricsHandler.instance)
        case "trace": configuration.trace(with: NoOpTracer())
        case "all":
            configuration.log(to: logger)
            configuration.measure(with: NOOPMetricsHandler.instance)
            configuration.trace(with: NoOpTracer())
        case "inspect": configuration.observers = inspector.map { [$0] } ?? []
        default: break
        }
    }
}

// Not at the top level: callgrind does not survive the main thread's end in `dispatchMain`.
let done = DispatchSemaphore(value: 0)
Task.detached {
    do {
        let ness = try await makeManager()
        for _ in 0..<count { _ = try await ness.get("https://mock.test/x").dataRequest().value }
    } catch {
        print(error)
        exit(1)
    }
    done.signal()
}
done.wait()
