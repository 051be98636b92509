// Runs the checks of NessTesting on the transport over AsyncHTTPClient. Fails if one fails.
//   swift run -c release --package-path Benchmarks conformance [list | ID …]
// With identifiers, only those checks run, without the list of known limits; `list` prints all identifiers.
import AsyncHTTPClient
import AsyncHTTPClientTransport
import Foundation
import NessTesting

var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: .enabled(limit: .none))
// Otherwise eight.
configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1_000
let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
if CommandLine.arguments.dropFirst().first == "list" {
    for check in TransportConformance.checks { print(check.id) }
    exit(0)
}
let names = Set(CommandLine.arguments.dropFirst())
let chosen = TransportConformance.checks.filter { names.isEmpty || names.contains($0.id.rawValue) }
let report = await TransportConformance.run(
    { AsyncHTTPClientTransport(client) }, checks: chosen, except: names.isEmpty ? knownLimits : [:])
print(report)
try await client.shutdown().get()
exit(report.isPassed ? 0 : 1)
