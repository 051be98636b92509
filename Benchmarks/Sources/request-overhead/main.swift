// Three costs of requests, measured against one server in another process. First, a sequential GET through `dataRequest()`, in turn with
// the same delegate data task on a bare URLSession. Second, the share of a core that each takes while it waits a second for an answer on a
// new connection. Third, the cost of a connection of its own for a POST, over http and over https.
//   swift run -c release --package-path Benchmarks request-overhead
import Foundation
import Measure
import NessHTTP
import NessTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

let count = 500
let body = Data(repeating: UInt8(ascii: "x"), count: 1_024)

if CommandLine.arguments.dropFirst().first == "serve" {
    let handler: TestServer.Handler = { request in
        if request.path == "/late" { try await Task.sleep(for: .seconds(1)) }
        return .data(body, contentType: "application/json")
    }
    let server = try await TestServer.start(recordsRequests: false, handler)
    let secure = try await TestServer.start(certificate: TestAuthority().certificate(), recordsRequests: false, handler)
    print(server.url.absoluteString, secure.url.absoluteString)
    fflush(nil)
    // The read ends with the parent process, which holds the other end of this pipe.
    _ = FileHandle.standardInput.readDataToEndOfFile()
    exit(0)
}

/// The least code that a program without a library needs: a delegate that collects the body, and a continuation.
final class Bare: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // The lock guards both variables below.
    private let lock = NSLock()
    private var data = Data()
    private var continuation: CheckedContinuation<Data, any Error>?

    func get(_ url: URL, _ session: URLSession) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            lock.withLock { (self.continuation, data) = (continuation, Data()) }
            session.dataTask(with: URLRequest(url: url)).resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { self.data.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (continuation, data) = lock.withLock { (self.continuation, self.data) }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume(returning: data) }
    }
}

let child = Process()
child.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
child.arguments = ["serve"]
let (input, output) = (Pipe(), Pipe())
child.standardInput = input
child.standardOutput = output
try child.run()
let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
let urls = line.split(whereSeparator: \.isWhitespace).compactMap { URL(string: String($0)) }
guard let url = urls.first, let secureURL = urls.last, urls.count == 2 else {
    print("the servers did not start")
    exit(1)
}

let bare = Bare()
let queue = OperationQueue()
queue.maxConcurrentOperationCount = 1
let session = URLSession(configuration: .ephemeral, delegate: bare, delegateQueue: queue)
let ness = Ness()

let times = try await medians(
    rounds: 15,
    [
        ("bare URLSession", { for _ in 0..<count { let data = try await bare.get(url, session); precondition(data.count == body.count) } }),
        (
            "Ness",
            {
                for _ in 0..<count {
                    let result = try await ness.httpRequest(.get, withUrl: url).dataRequest().value
                    precondition(result.responseData.count == body.count)
                }
            }
        ),
    ])
for (name, time) in times.sorted(by: { $0.key < $1.key }) {
    print("\(name): \(decimal(time / .microseconds(1) / Double(count))) µs a request")
}
print("overhead: \(decimal((times["Ness"] ?? .zero) / (times["bare URLSession"] ?? .seconds(1)))) times the bare session")

/// Returns the processor time of all threads of this process while a closure runs, in seconds.
func work(_ body: () async throws -> Void) async throws -> Double {
    let start = clock()
    try await body()
    return Double(clock() - start) / Double(CLOCKS_PER_SEC)
}

/// Returns the share of a core that a closure takes, in percent.
func load(_ body: () async throws -> Void) async throws -> Int {
    let start = ContinuousClock.now
    let seconds = try await work(body)
    return Int((seconds / ((ContinuousClock.now - start) / .seconds(1)) * 100).rounded())
}
let late = url.appendingPathComponent("late")
let waiting = (
    bare: try await load {
        let session = URLSession(configuration: .ephemeral, delegate: bare, delegateQueue: queue)
        _ = try await bare.get(late, session)
        session.finishTasksAndInvalidate()
    },
    ness: try await load { _ = try await Ness().httpRequest(.get, withUrl: late).dataRequest().value },
    reused: try await load { _ = try await ness.httpRequest(.get, withUrl: late).dataRequest().value }
)
print("waiting on a new connection: \(waiting.ness) % of a core, a bare URLSession \(waiting.bare) %; on one in use: \(waiting.reused) %")

/// Returns the processor time of one request, in milliseconds: the median of 30. The server's certificate is not trusted, so a request over
/// https ends with the handshake, whose cost is measured here.
func milliseconds(_ method: HTTPMethod, _ url: URL) async throws -> String {
    var all: [Double] = []
    for _ in 0..<30 {
        let request = ness.httpRequest(method, withUrl: url)
        all.append(try await work { _ = await Promise.allSettled([request.dataRequest()]) })
    }
    return decimal(all.sorted()[15] * 1_000)
}
print(
    "work: GET \(try await milliseconds(.get, url)) ms, POST over http \(try await milliseconds(.post, url)) ms,",
    "the handshake of a GET over https \(try await milliseconds(.get, secureURL)) ms,",
    "of a POST \(try await milliseconds(.post, secureURL)) ms")
input.fileHandleForWriting.closeFile()
child.waitUntilExit()
