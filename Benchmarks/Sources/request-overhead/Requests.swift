import Foundation
import Measure
import NessHTTP
import Upstream

/// Throws an error unless a body has the expected number of bytes.
func expect(_ byteCount: Int) throws {
    guard byteCount == Upstream.bodySize else { throw Failed(reason: "a body had \(byteCount) bytes") }
}

/// A time divided by a number of requests, in microseconds.
func micro(_ seconds: Double, _ count: Int) -> String { decimal(seconds * 1e6 / Double(count)) }

/// Sends one GET after the other.
@Sendable func sequential(_ count: Int, over ness: Ness, _ url: URL) async throws {
    for _ in 0..<count {
        let result = try await ness.httpRequest(.get, withUrl: url).dataRequest().value
        try expect(result.responseData.count)
    }
}

/// Prints the share of a core that Ness takes while a GET waits a second for its answer.
func measureWaiting(_ late: URL, _ engine: Engine) async throws {
    var (new, used): ([Double], [Double]) = ([], [])
    for _ in 0..<3 {
        let ness = Ness { $0.transport = engine.makeTransport() }
        new.append(try await Cost.measure { try await sequential(1, over: ness, late) }.load)
        used.append(try await Cost.measure { try await sequential(1, over: ness, late) }.load)
        await ness.shutdown(within: .zero)
    }
    print("waiting a second on a new connection, % of a core: \(verdict(median(new), atMost: 1))")
    print("waiting a second on a used connection, % of a core: \(verdict(median(used), atMost: 1))")
}
