// The cost of a GET with Ness and with other libraries. The contenders take turns: bare libcurl in C, the transport alone, AsyncHTTPClient,
// URLSession, and Ness over each engine. Each sends one request after the other, and 64 concurrent ones. Then the share of a core that a
// client uses while it waits a second, and the cost of a GET beside others that wait.
//   swift run -c release --package-path Benchmarks request-overhead
import Foundation
import Measure
import NessHTTP
import NessTesting
import Upstream

// A server in this program's child: it waits a second before it responds, and then closes the connection.
if CommandLine.arguments.dropFirst().first == "serve" {
    let late = try await TestServer.start(recordsRequests: false) { _ in
        try await Task.sleep(for: .seconds(1))
        return .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"), .close])
    }
    ServerProcess.announce(late.url.absoluteString)
}
try await Upstream.serveIfAsked()

let upstream = try await Upstream.start()
let slow = try ServerProcess.again(["serve"])
guard let late = URL(string: slow.firstLine()) else { throw Failed(reason: "the server did not start") }
print("engine: \(Ness().configuration.transport)\nserver: \(upstream.name)")
let contenders = try makeContenders(
    (0..<width).compactMap { URL(string: "\(upstream.url.appendingPathComponent("get").absoluteString)?n=\($0)") })
let (one, many) = isQuick ? (800, 5_120) : (2_400, 12_800)
let alone = try await Rounds.measure(rounds(7), contenders.map { each in (each.name, { try await each.run(one / each.divisor, 1) }) })
let together = try await Rounds.measure(
    rounds(7), contenders.map { each in (each.name, { try await each.run(many / each.divisor, width) }) })
for each in contenders {
    try Measured(
        "64 concurrent GETs over HTTP/1.1", "requests per second", .more, each.name, together.rates(each.name, of: many / each.divisor)
    ).report()
}
for each in contenders {
    let cpu = together.micros(each.name, per: many / each.divisor, of: \.processorSeconds)
    try Measured("CPU of 64 concurrent GETs over HTTP/1.1", "µs per GET", .less, each.name, cpu).report()
}
for each in contenders {
    try Measured("One GET after the other over HTTP/1.1", "µs per GET", .less, each.name, alone.micros(each.name, per: one / each.divisor))
        .report()
}
let waits = try await Rounds.measure(
    isQuick ? 1 : 2, contenders.compactMap { each in each.get.map { get in (each.name, { _ = try await get(late) }) } })
for each in contenders where each.get != nil {
    try Measured("CPU while one request waits for a response", "% of a core", .less, each.name, waits[each.name].map(\.load)).report()
}
try await measureGrowth(contenders)
slow.end()
upstream.stop()
exit(0)
