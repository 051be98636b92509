// The load of 1,000 clients on a failing server, for several retry policies: the number of requests that reach it, in total and in the
// worst second. Writes Benchmarks/Plots/retry-storm.svg. All random numbers are seeded, so every run prints the same.
//   swift run -c release --package-path Benchmarks retry-storm
//
// The clients are 1,000 callers of one manager, as in a server or a gateway for 1,000 users. A retry budget is shared across a manager. It
// has a minimum (100 retries in 10 s) that the app of a single user never reaches. For 1,000 apps with a manager each, read "full jitter"
// for "with the budget".
//
// Each client sends a request every 10 s, at its own offset. From second 20 to 60 the server immediately responds with 503. When that
// starts, every client sends one extra request, like a client whose connection broke. The simulation runs Ness with its whole pipeline, on
// a ManualClock that moves from one event to the next. One client acts at a time, so the order is always the same.
import Foundation
import Measure
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
    Policy(name: "no retry", color: SVG.colors[0], control: nil),
    Policy(
        name: "counter: 4, 1 s apart", color: SVG.colors[1], control: CounterRetryControl(maxRetryCount: 4, timeIntervalBeforeTryToRetry: 1)
    ),
    Policy(name: "backoff without jitter: 4, after 1, 2, 4, 8 s", color: SVG.colors[2], control: backoff(seed: nil)),
    Policy(name: "backoff with full jitter", color: SVG.colors[3], control: backoff(seed: 1)),
    Policy(name: "full jitter with the budget (20%)", color: SVG.colors[4], budget: RetryBudget(), control: backoff(seed: 2)),
]

func padded(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }

print(padded("", 48) + padded("requests", 12) + padded("at worst in 1 s", 18) + "after the first second")
var lines: [LinePlot.Line] = []
var most = 0
for policy in policies {
    let perSecond = try await Simulation(policy).run()
    let failing = perSecond[failure]
    let total = failing.reduce(0, +), worst = failing.max() ?? 0, later = failing.dropFirst().max() ?? 0
    print(padded(policy.name, 48) + padded("\(total)", 12) + padded("\(worst)", 18) + "\(later)")
    most = max(most, perSecond.max() ?? 0)
    // Each point lies in the middle of its second.
    let points = perSecond.enumerated().map { (x: Double($0.offset) + 0.5, y: Double($0.element)) }
    lines.append(LinePlot.Line(name: "\(policy.name): \(total) requests", color: policy.color, points: points))
}
let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Plots/retry-storm.svg").standardized
let plot = LinePlot(
    "Requests of 1,000 clients to a server that fails",
    x: LinePlot.Axis("simulated time in seconds", marks: stride(from: 0, through: Double(length), by: 10).map { $0 }),
    y: LinePlot.Axis("requests a second", marks: stride(from: 0, through: Double((most / 200 + 1) * 200), by: 200).map { $0 }),
    lines: lines, shaded: (Double(failure.lowerBound)..<Double(failure.upperBound), "the server returns 503"))
try Data(plot.file.utf8).write(to: file)
print("plot: \(file.path)")
