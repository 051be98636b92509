import Foundation
import Measure
import NessHTTP
import Upstream

/// Throws an error unless a body has the expected number of bytes.
func expect(_ byteCount: Int) throws {
    guard byteCount == Upstream.bodySize else { throw Failed(reason: "a body had \(byteCount) bytes") }
}

/// The number of simultaneous requests.
let width = 64

/// Divides requests among tasks that run at once. A single task runs in the caller.
func divide(
    _ count: Int, among parallel: Int, _ body: @escaping @Sendable (_ index: Int, _ count: Int) async throws -> Void
) async throws {
    if parallel == 1 { return try await body(0, count) }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<parallel { group.addTask { try await body(index, count / parallel) } }
        try await group.waitForAll()
    }
}

/// Sends one GET after the other.
@Sendable func sequential(_ count: Int, over ness: Ness, _ url: URL) async throws {
    for _ in 0..<count {
        let result = try await ness.httpRequest(.get, withUrl: url).dataRequest().value
        try expect(result.responseData.count)
    }
}

/// Reports the share of a core that Ness takes while a GET waits a second for its answer.
func measureWaiting(_ late: URL, _ engine: Engine) async throws {
    var (new, used): ([Double], [Double]) = ([], [])
    for _ in 0..<(isQuick ? 1 : 3) {
        let ness = Ness { $0.transport = engine.makeTransport() }
        new.append(try await Cost.measure { try await sequential(1, over: ness, late) }.load)
        used.append(try await Cost.measure { try await sequential(1, over: ness, late) }.load)
        await ness.shutdown(within: .zero)
    }
    let isNew = "waiting a second over \(engine.rawValue) on a new connection, % of a core"
    try Row(isNew, new, .atMost(1), missedBecause: engine == .urlsession ? Reason.waiting : nil).report()
    try Row("waiting a second over \(engine.rawValue) on a used connection, % of a core", used, .atMost(1)).report()
}
