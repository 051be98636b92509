// The latency of GETs that arrive at a fixed rate, with Ness and AsyncHTTPClient, at 30, 60 and 90 % of the highest rate; at 30 %, with a slow
// origin among ten, with 1 % of the connections lost, and beside a download of 1 GiB.
//   swift run -c release --package-path Benchmarks tails
import AsyncHTTPClient
import Foundation
import Measure
import NessHTTP
import Upstream

try await Upstream.serveIfAsked()
#if os(Linux)
let hosts = 10
#else
// This system has only one loopback address.
let hosts = 1
#endif
let upstream = try await Upstream.start(fileSize: 1 << 30, hosts: hosts)

/// A client that sends GETs.
struct Client: Sendable {
    let name: String
    /// Sends a GET, and returns the status.
    let get: @Sendable (String) async throws -> Int
    /// Reads a large body to its end.
    let drain: @Sendable (String) async throws -> Void
}

let ness = Ness {
    $0.maximumConnectionsPerHost = 4_096
    $0.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
}
var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4_096
let peer = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
let clients = [
    Client(name: "Ness") {
        try await ness.httpRequest(.get, withUrl: $0).dataRequest().value.message.statusCode
    } drain: {
        for try await _ in ness.httpRequest(.get, withUrl: $0).streamRequest().chunks {}
    },
    Client(name: "Ness, awaited") {
        try await ness.httpRequest(.get, withUrl: $0).response().statusCode
    } drain: {
        for try await _ in ness.httpRequest(.get, withUrl: $0).streamRequest().chunks {}
    },
    Client(name: "AsyncHTTPClient") {
        let response = try await peer.execute(HTTPClientRequest(url: $0), timeout: .seconds(60))
        _ = try await response.body.collect(upTo: 1 << 20)
        return Int(response.status.code)
    } drain: {
        let response = try await peer.execute(HTTPClientRequest(url: $0), timeout: .seconds(600))
        for try await _ in response.body {}
    },
]

/// Returns the number of requests a second that a client can receive at a fixed rate: three quarters of what it reaches with 64 concurrent ones, because
/// the thread that keeps the rate needs its time as well.
func highestRate(_ client: Client) async throws -> Double {
    let count = 300
    let cost = try await Cost.measure {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { for _ in 0..<count { _ = try await client.get(url("get")) } } }
            try await group.waitForAll()
        }
    }
    return Double(64 * count) / cost.seconds * 0.75
}

@Sendable func url(_ path: String, host: Int = 0) -> String {
    "http://\(Upstream.address(host)):\(upstream.url.port ?? 80)/\(path)"
}

/// A disturbance while the latencies are measured.
enum Disturbance: String, CaseIterable {
    case slowOrigin = "with a slow origin among ten"
    case lostConnections = "with 1 % of the connections lost"
    case download = "beside a download of 1 GiB"

    /// The request with a number, and true if its latency counts.
    func request(_ number: Int) -> (url: String, isCounted: Bool) {
        switch self {
        case .slowOrigin where number % 10 == 9: (url("slow", host: hosts - 1), false)
        case .slowOrigin: (url("get", host: number % hosts), true)
        case .lostConnections where number % 100 == 99: (url("lost"), false)
        case .lostConnections, .download: (url("get"), true)
        }
    }
}

func latencies(of client: Client, at rate: Double, _ disturbance: Disturbance?) async -> [Double] {
    let seconds = isQuick ? 1.0 : 4.0
    let download = disturbance == .download ? Task { while !Task.isCancelled { try await client.drain(url("file")) } } : nil
    defer { download?.cancel() }
    return await OpenLoop(rate: rate, count: Int(rate * seconds)).latencies { number in
        let (url, isCounted) = disturbance?.request(number) ?? (url("get"), true)
        return try await client.get(url) == 200 && isCounted
    }
}

var most = Double.infinity
for _ in 0..<3 { for client in clients { most = min(most, try await highestRate(client)) } }
print("100 % is \(figure(most)) requests a second")
let settings: [(load: Double, disturbance: Disturbance?)] =
    [(0.3, nil), (0.6, nil)] + Disturbance.allCases.map { (0.3, $0) } + [(0.9, nil)]
for (load, disturbance) in settings {
    var figures: [String: [[Double]]] = [:]
    // The first round opens connections, and does not count.
    for round in 0...rounds(3) {
        for client in clients {
            let all = await latencies(of: client, at: most * load, disturbance)
            if round > 0 { figures[client.name, default: []].append(all) }
            showProgress(".")
        }
    }
    showProgress("\n")
    let question = "Latency at \(Int(load * 100)) % of the highest rate" + (disturbance.map { " " + $0.rawValue } ?? "")
    for percent in [50, 99, 99.9] {
        for client in clients {
            let values = (figures[client.name] ?? []).map { percentile(percent, of: $0) }
            try Measured(question, "ms", .less, "\(client.name), p\(figure(percent))", values).report()
        }
    }
}
upstream.stop()
exit(0)
