import NessHTTP
import NessTesting
import Upstream

/// The callers of one exchange.
extension Kind {
    static let sharing = [
        shares("that gets the response") { _ in nil },
        shares("that is dropped, the first caller first") { Array(0..<$0) },
        shares("that is dropped, the last caller first") { (0..<$0).reversed() },
        shares("that is dropped, in any order") { count in
            // Another permutation for each count, the same in each run: 7,919 is a prime.
            (0..<count).map { ($0 * 7_919 + 5) % count }
        },
    ]

    /// - Parameter drops: Returns the order in which so many callers are dropped; `nil` to serve them.
    private static func shares(_ what: String, _ drops: @escaping @Sendable (Int) -> [Int]?) -> Kind {
        Kind(plot: "Callers of one exchange", name: "a caller \(what)") { count in
            let batch = Batch()
            let ness = manager { $0.transport = batch }
            let request = ness.httpRequest(.get, withUrl: "https://mock.test/x"), order = drops(count)
            return Work(units: count) {
                let answers = TestGate()
                batch.begin(0, arrived: TestGate(), answers: answers)
                let promises = (0..<count).map { _ in request.dataRequest() }
                for index in order ?? [] { promises[index].drop() }
                answers.open()
                if order == nil { return try await finish(promises) }
                for promise in promises { _ = try? await promise.value }
            }
        }
    }
}
