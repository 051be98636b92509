// The load of 1,000 clients on a failing server, for several retry policies: the number of requests that reach it, in total and in the
// worst second. Writes Benchmarks/Plots/retry-storm.svg. All random numbers are seeded, so every run prints the same.
//   swift run -c release --package-path Benchmarks retry-storm
//
// The clients are 1,000 callers of one manager, as in a server or a gateway for 1,000 users. A retry budget is shared across a manager. It
// has a minimum (100 retries in 10 s) that the app of a single user never reaches. For 1,000 apps with a manager each, read "full jitter"
// also for "with the budget".
//
// Each client asks every 10 s, at a time of its own. From second 20 to 60 the server answers 503 at once. When that begins, every client
// asks once more, like a client whose connection broke. The simulation runs Ness with its whole pipeline, on a ManualClock that moves from
// one event to the next. One client acts at a time, so the order is always the same.
import Foundation
import NessHTTP
import NessTesting

let clients = 1_000
let period = 10
let length = 100
let failure = 20..<60

struct Policy {
    let name: String
    let color: String
    var budget = RetryBudget(ratio: 0, minimum: .max)
    let control: (any RetryControl)?
}

func backoff(seed: UInt64?) -> BackoffRetryControl {
    let random = SeededRandom(seed: seed ?? 0)
    return BackoffRetryControl(maxRetryCount: 4, initialDelay: .seconds(1)) { range in
        seed == nil ? range.upperBound : random.next(in: range)
    }
}

let policies = [
    Policy(name: "no retry", color: "#666666", control: nil),
    Policy(
        name: "counter: 4, 1 s apart", color: "#d62728", control: CounterRetryControl(maxRetryCount: 4, timeIntervalBeforeTryToRetry: 1)),
    Policy(name: "backoff without jitter: 4, after 1, 2, 4, 8 s", color: "#ff7f0e", control: backoff(seed: nil)),
    Policy(name: "backoff with full jitter", color: "#1f77b4", control: backoff(seed: 1)),
    Policy(name: "full jitter with the budget (20%)", color: "#2ca02c", budget: RetryBudget(), control: backoff(seed: 2)),
]

func padded(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }

print(padded("", 48) + padded("requests", 12) + padded("at worst in 1 s", 18) + "after the first second")
var lines: [Plot.Line] = []
for policy in policies {
    let perSecond = try await Simulation(policy).run()
    let failing = perSecond[failure]
    let total = failing.reduce(0, +), worst = failing.max() ?? 0, later = failing.dropFirst().max() ?? 0
    print(padded(policy.name, 48) + padded("\(total)", 12) + padded("\(worst)", 18) + "\(later)")
    lines.append(Plot.Line(name: "\(policy.name): \(total) requests", color: policy.color, values: perSecond))
}
let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Plots/retry-storm.svg").standardized
try Data(Plot(lines: lines, shaded: failure).svg.utf8).write(to: file)
print("plot: \(file.path)")
