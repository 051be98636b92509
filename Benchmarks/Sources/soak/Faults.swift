import Foundation
import NessHTTP
import NessTesting
import Synchronization
import Upstream

/// A soak of mixed faults against one server: responses that are reset or cut, bytes that follow a response, connections that end after one,
/// drops and slow readers. Beside them go POSTs to which the server responds well. It counts those that are lost.
final class Faults: Sendable {
    private static let workerCount = 16
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let large = Data(count: 300_000)

    /// The number of POSTs, of those that failed, and of responses that were not those of their requests.
    private let posts = Atomic(0), lost = Atomic(0), wrong = Atomic(0)

    /// Runs a number of requests, and prints the counts.
    /// - Returns: True if every response was that of its request, and at most one POST in 1,000 was lost. A server that resets a
    ///   connection just as a request arrives loses one now and then, and no client can tell.
    static func run(_ engine: Engine, _ requestCount: Int) async throws -> Bool {
        let server = try await TestServer.start(recordsRequests: false) { request in
            switch request.path {
            case "/reset": .script([.reset])
            case "/cut": .script([.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .close])
            case "/extra": .script([.send(head + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nextra"), .resumeServing])
            case "/closed": .script([.send(head), .close])
            case "/ended": .script([.send(head), .reset])
            case "/large": .data(large, contentType: "application/octet-stream")
            default: .data(request.body, contentType: "text/plain")
            }
        }
        let ness = Ness {
            $0.transport = engine.makeTransport()
            $0.baseURL = server.url
            $0.maximumConnectionsPerHost = workerCount
        }
        let faults = Faults(), next = Counter()
        await withTaskGroup { group in
            for _ in 0..<workerCount {
                group.addTask {
                    while case let number = next.next(), number < requestCount { await faults.send(number, ness) }
                }
            }
        }
        await ness.shutdown(within: .seconds(10))
        await server.stop()
        let (posts, lost, wrong) = (
            faults.posts.load(ordering: .relaxed), faults.lost.load(ordering: .relaxed), faults.wrong.load(ordering: .relaxed)
        )
        print("\(engine.makeTransport()): \(requestCount) requests with faults; of \(posts) POSTs \(lost) were lost, \(wrong) swapped")
        return wrong == 0 && lost * 1_000 <= posts
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
    }

    private func send(_ number: Int, _ ness: Ness) async {
        let faults = ["reset", "cut", "extra", "closed", "ended"]
        switch number % 12 {
        case let kind where kind < faults.count: _ = try? await ness.get(faults[kind]).response()
        case 5:
            let promise = ness.httpRequest(.get, withUrl: "large").dataRequest()
            for _ in 0..<number % 50 { await Task.yield() }
            promise.drop()
        case 6:
            do {
                for try await _ in ness.httpRequest(.get, withUrl: "large").streamRequest().chunks { await Task.yield() }
            } catch {
                wrong.add(1, ordering: .relaxed)
            }
        default:
            posts.add(1, ordering: .relaxed)
            do {
                let text = try await ness.post("good").set(stringBody: "\(number)").text()
                if text != "\(number)" { wrong.add(1, ordering: .relaxed) }
            } catch {
                lost.add(1, ordering: .relaxed)
            }
        }
    }
}
