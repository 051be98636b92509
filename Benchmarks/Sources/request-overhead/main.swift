// The cost of a GET, as ratios to the same work without this library, all in one run. The contenders take turns.
//   swift run -c release --package-path Benchmarks request-overhead [--transport curl|urlsession]
// Over libcurl, the default on Linux: bare libcurl in C, the transport alone, Ness over it, AsyncHTTPClient, and Ness over that. Each sends
// one request after the other, and 64 at once. Over URLSession: bare delegate data tasks, and Ness, which also decodes JSON. Then the share of a core that a client takes while it waits a second.
import Foundation
import Measure
import NessHTTP
import NessTesting
import Upstream

// Two servers in this program's child: one waits a second before it answers, and the other speaks TLS.
if CommandLine.arguments.dropFirst().first == "serve" {
    let late = try await TestServer.start(recordsRequests: false) { _ in
        try await Task.sleep(for: .seconds(1))
        return .text(String(repeating: "x", count: Upstream.bodySize))
    }
    let secure = try await TestServer.start(certificate: TestAuthority().certificate(), recordsRequests: false) { _ in .status(204) }
    ServerProcess.announce("\(late.url.absoluteString) \(secure.url.absoluteString)")
}
try await Upstream.serveIfAsked()

var arguments = Array(CommandLine.arguments.dropFirst())
let engine = Engine.read(from: &arguments)
let upstream = try await Upstream.start()
let slow = try ServerProcess.again(["serve"])
let urls = slow.firstLine().split(separator: " ").compactMap { URL(string: String($0)) }
guard urls.count == 2 else { throw Failed(reason: "the servers did not start") }
print("engine: \(engine.makeTransport())\nserver: \(upstream.name)")
let url = upstream.url.appendingPathComponent("get")
switch engine {
case .curl: try await measureCurl(url, late: urls[0])
case .urlsession: try await measureURLSession(url, late: urls[0], secure: urls[1])
}
slow.end()
upstream.stop()
