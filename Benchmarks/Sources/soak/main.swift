// A soak test: requests of every kind run in parallel, watched by an observer. A tenth are canceled at different moments. It measures the
// memory and the open descriptors that remain. Fails if the last two thirds of the requests add 16 MiB, or eight descriptors, or more.
//   swift run -c release --package-path Benchmarks soak [--transport curl|urlsession] [--long | --faults] [REQUESTS]
// The default is 30,000 requests; `--long` makes 100,000, of which 10,000 are canceled. `--faults` counts the POSTs that are lost beside
// faulty responses (Faults.swift).
import Foundation
import NessHTTP
import NessTesting
import Synchronization
import Upstream

var arguments = Array(CommandLine.arguments.dropFirst())
let engine = Engine.read(from: &arguments)
let total = arguments.lazy.compactMap { Int($0) }.first ?? (arguments.contains("--long") ? 100_000 : 30_000)
if arguments.contains("--faults") { exit(try await Faults.run(engine, total) ? 0 : 1) }
let requestCount = Atomic(0)
/// Returns the token that the server accepts. It changes after every 200 requests.
@Sendable func validToken() -> String { "token-\(requestCount.load(ordering: .relaxed) / 200)" }
let large = Data(count: 200_000)
let server = try await TestServer.start(recordsRequests: false) { request in
    let number = requestCount.add(1, ordering: .relaxed).newValue
    switch request.path {
    case "/redirect": return .status(302, headers: ["Location": "/"])
    case "/busy": return number.isMultiple(of: 2) ? .status(503) : .data(Data(count: 1_024), contentType: "application/json")
    case "/private":
        return request.headers["Authorization"] == validToken() ? .data(Data(count: 1_024), contentType: "text/plain") : .status(401)
    case "/silent": return .script([.stall])
    case "/large": return .data(large, contentType: "application/octet-stream")
    default: return .data(Data(count: 1_024), contentType: "application/json")
    }
}
let ended = Atomic(0)
struct EndCounter: RequestObserver {
    func requestDidEnd(_ request: HTTPRequest) { ended.add(1, ordering: .relaxed) }
}
let ness = Ness {
    $0.transport = engine.makeTransport()
    $0.baseURL = server.url
    $0.observers = [EndCounter()]
    $0.retryControl = CounterRetryControl(maxRetryCount: 20)
}
let account = Ness {
    $0.transport = ness.configuration.transport
    $0.baseURL = server.url
    $0.observers = [EndCounter()]
    $0.authentication = RefreshableAuthentication(credential: "stale") {
        ["Authorization": $0]
    } refresh: { _, _ in
        validToken()
    }
}
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ness-soak-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

/// Returns the resident memory, in bytes.
func resident() throws -> Int {
    #if os(Linux)
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return (Int(pages[1]) ?? 0) * 4_096
    #else
    var info = mach_task_basic_info()
    var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
    _ = withUnsafeMutablePointer(to: &info) { pointer in
        pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
            task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
        }
    }
    return Int(info.resident_size)
    #endif
}

/// Returns the number of open descriptors.
func descriptorCount() -> Int { (0..<4_096).count { fcntl(Int32($0), F_GETFD) != -1 } }

/// The number of requests that a drop ended.
let cancelCount = Atomic(0)

/// Drops a request: immediately, after some turns of other tasks, or when the server has been silent for a while.
func cancel(_ moment: Int) async throws {
    let promise = ness.httpRequest(.get, withUrl: moment % 3 == 0 ? "silent" : "large").set(urlParameters: ["n": moment]).dataRequest()
    if moment % 3 == 0 { try await Task.sleep(for: .milliseconds(moment % 5)) }
    if moment % 3 == 1 { for _ in 0..<moment % 50 { await Task.yield() } }
    promise.drop()
    if case .failure = await Promise.allSettled([promise])[0] { cancelCount.add(1, ordering: .relaxed) }
}

/// Runs a request of one kind to its end.
func run(_ kind: Int, _ moment: Int, _ file: URL) async throws {
    switch kind {
    case 0: _ = try await ness.httpRequest(.post, withUrl: "/").set(stringBody: "content").dataRequest().value
    case 1: _ = try await ness.httpRequest(.get, withUrl: "redirect").dataRequest().value
    case 2: _ = try await ness.httpRequest(.get, withUrl: "busy").validate(statusCode: 200).dataRequest().value
    case 3:
        // A request fails if the server rejects it twice because the token changed again meanwhile. This failure is correct.
        _ = try? await account.httpRequest(.get, withUrl: "private").validate(statusCode: 200).dataRequest().value
    case 4:
        var count = 0
        for try await chunk in ness.httpRequest(.get, withUrl: "large").streamRequest().chunks { count += chunk.count }
        precondition(count == large.count)
    case 5:
        // One reader leaves early. The other never reads.
        for try await _ in ness.httpRequest(.get, withUrl: "large").streamRequest().chunks { break }
        let unread = ness.httpRequest(.get, withUrl: "large").streamRequest()
        _ = try await unread.value
        unread.drop()
    case 6:
        let saved = try await ness.httpRequest(.get, withUrl: "large").downloadRequest(forSavedLocation: file).value
        try FileManager.default.removeItem(at: saved.dataLocalURL)
    case 7: try await cancel(moment)
    default:
        let result = try await ness.httpRequest(.get, withUrl: "/").dataRequest().value
        precondition(result.message.statusCode == 200 && result.responseData.count == 1_024)
    }
}

func run(_ requests: Int) async throws {
    for batch in 0..<(requests / 20) {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask { try await run((batch + index) % 10, batch + index, folder.appendingPathComponent("\(index)")) }
            }
            try await group.waitForAll()
        }
    }
}

try await run(total / 3)
let before = try resident(), descriptorsBefore = descriptorCount()
try await run(total - total / 3)
let grown = try resident() - before, opened = descriptorCount() - descriptorsBefore
print("\(engine.makeTransport()): \(total) requests, of which \(cancelCount.load(ordering: .relaxed)) were canceled")
print("the last \(total - total / 3) left \(grown / 1_024) KiB, of \(before / 1_024) KiB before, and \(opened) descriptors")
await server.stop()
try? FileManager.default.removeItem(at: folder)
exit(grown < 16 << 20 && opened < 8 ? 0 : 1)
