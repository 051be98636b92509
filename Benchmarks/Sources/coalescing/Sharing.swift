import Foundation
import Measure
import NessHTTP
import NessTesting
import Synchronization
import Upstream

/// A server that takes 20 ms for a response of 10,000 bytes, and counts its responses.
private struct SlowServer {
    static let response =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10000\r\n\r\n" + String(repeating: "x", count: 10_000)
    let server: TestServer
    let answers: AnswerCount

    final class AnswerCount: Sendable {
        let value = Atomic(0)
    }

    static func start() async throws -> SlowServer {
        let answers = AnswerCount()
        let server = try await TestServer.start(recordsRequests: false) { _ in
            try await Task.sleep(for: .milliseconds(20))
            answers.value.add(1, ordering: .relaxed)
            return .script([.send(response), .resumeServing])
        }
        return SlowServer(server: server, answers: answers)
    }

    /// Sends a GET for each caller, and returns when all promises are settled.
    func answer(_ callers: Int, _ handler: DefaultDuplicatedHandler) async throws -> Sharing {
        let ness = Ness { $0.duplicatedHandler = handler }
        // The connection is open before the measurement, as in an app that runs.
        _ = try await ness.httpRequest(.get, withUrl: server.url).dataRequest().value
        let before = (server.statistics, answers.value.load(ordering: .relaxed))
        let request = ness.httpRequest(.get, withUrl: server.url)
        let start = ContinuousClock.now
        let results = await Promise.allSettled((0..<callers).map { _ in request.dataRequest() })
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        await ness.shutdown(within: .zero)
        let after = (server.statistics, answers.value.load(ordering: .relaxed))
        return Sharing(
            handler: "\(handler)", callers: callers, answered: results.count { (try? $0.get()) != nil }, milliseconds: milliseconds,
            requests: after.0.requestCount - before.0.requestCount,
            bytes: after.0.bytesReceived - before.0.bytesReceived + (after.1 - before.1) * SlowServer.response.utf8.count)
    }
}

/// Measures what callers of the same GET get, and what goes over the wire, by the way of treating duplicates.
func measureSharing() async throws {
    let slow = try await SlowServer.start()
    let handlers: [DefaultDuplicatedHandler] = [
        .requestAllSeparately, .keepAllCompletion, .keepFirstCompletion, .keepLatestCompletion, .dropPreviousRequest,
    ]
    for callers in [1, 10, 100, 1_000] {
        var all: [[Sharing]] = Array(repeating: [], count: handlers.count)
        for _ in 0..<(isQuick ? 1 : 3) {
            for (index, handler) in handlers.enumerated() { all[index].append(try await slow.answer(callers, handler)) }
            showProgress(".")
        }
        for rounds in all {
            // The round of the median time stands for all.
            let middle = rounds.sorted { $0.milliseconds < $1.milliseconds }[rounds.count / 2]
            print(
                "\(middle.handler), \(callers) callers: \(middle.answered) completed, \(figure(middle.milliseconds)) ms,",
                "\(middle.requests) requests, \(middle.bytes) bytes")
            try record(middle)
        }
    }
    showProgress("\n")
    await slow.server.stop()
}
