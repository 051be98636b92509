// Ness as the client of a gateway: a Hummingbird service that sends one GET to an upstream for each request, loaded by `wrk` over 64
// connections. The same service runs with AsyncHTTPClient, with Ness over the platform's transport, and with Ness over a transport on
// AsyncHTTPClient. Each runs in a separate process, in turn, round by round.
//   swift run -c release --package-path Benchmarks gateway [--transport curl|urlsession] [SECONDS]
import Foundation
import Measure
import NessHTTP
import Upstream

try await Upstream.serveIfAsked()
var arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "serve", arguments.count == 4 {
    guard let client = Client(rawValue: arguments[1]), let engine = Engine(rawValue: arguments[2]) else { exit(2) }
    try await serve(client, engine, upstream: arguments[3])
    exit(0)
}

let engine = Engine.read(from: &arguments)
let seconds = arguments.lazy.compactMap { Int($0) }.first ?? (isQuick ? 1 : 2)
guard let wrk = findProgram("wrk") else { throw Failed(reason: "wrk is not installed") }
let upstream = try await Upstream.start()
let url = upstream.url.appendingPathComponent("get").absoluteString
let services = try Client.allCases.map { client in
    let process = try ServerProcess.again(["serve", client.rawValue, engine.rawValue, url])
    return (client: client, process: process, url: process.firstLine())
}
let ness = Ness { $0.transport = engine.makeTransport() }

/// Returns the processor time that a service has used so far, in seconds.
func processorTime(_ service: String) async throws -> Double {
    let text = try await ness.httpRequest(.get, withUrl: service + "/cpu").dataRequest().value.message.text
    guard let seconds = Double(text) else { throw Failed(reason: "the service did not report its processor time") }
    return seconds
}

/// Loads a service, and returns its requests a second and the processor time of each request in microseconds.
func load(_ service: String) async throws -> (rate: Double, work: Double) {
    let before = try await processorTime(service)
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: wrk)
    process.arguments = ["-t1", "-c64", "-d\(seconds)s", service + "/"]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    // `1234 requests in 4.00s, 1.23MB read`, and a line about errors if there were any.
    let words = text.split(whereSeparator: \.isWhitespace)
    guard !text.contains("Non-2xx"), !text.contains("Socket errors"), let place = words.firstIndex(of: "requests"), place > 0,
        let count = Double(words[place - 1]), let duration = Double(words[place + 2].prefix { $0 != "s" })
    else { throw Failed(reason: "wrk printed:\n\(text)") }
    return (count / duration, (try await processorTime(service) - before) / count * 1e6)
}

print("engine: \(engine.makeTransport())\nupstream: \(upstream.name)")
var (rates, works) = ([[Double]](repeating: [], count: services.count), [[Double]](repeating: [], count: services.count))
// The first round warms the services up.
for round in 0...rounds(5) {
    for (index, service) in services.enumerated() {
        let (rate, work) = try await load(service.url)
        showProgress(".")
        if round == 0 { continue }
        rates[index].append(rate)
        works[index].append(work)
    }
}
showProgress("\n")
for (index, service) in services.enumerated() {
    try Measured("Gateway on Hummingbird, 64 connections", "requests per second", .more, service.client.name, rates[index]).report()
}
for (index, service) in services.enumerated() {
    try Measured("CPU of a gateway on Hummingbird", "µs per request", .less, service.client.name, works[index]).report()
}
for service in services { service.process.end() }
upstream.stop()
