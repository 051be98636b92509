import NessPromise
import Synchronization

/// Promises that depend on each other.
extension Kind {
    static let promises = [
        links("a handler of one promise") { count in
            let sum = Mutex(0)
            return Work(units: count) {
                let (promise, resolver) = Promise<Int>.pending()
                for _ in 0..<count { promise.then(on: .immediate) { value in sum.withLock { $0 += value } } }
                resolver.resolve(1)
            }
        },
        links("a link of a chain") { count in
            Work(units: count) {
                let (promise, resolver) = Promise<Int>.pending()
                var last = promise
                for _ in 0..<count { last = last.then(on: .immediate) { $0 + 1 } }
                resolver.resolve(0)
                let value = try await last.value
                precondition(value == count)
            }
        },
        links("a link of a chain that is dropped") { count in
            Work(units: count) {
                let (promise, resolver) = Promise<Int>.pending()
                var last = promise
                for _ in 0..<count { last = last.then(on: .immediate) { $0 + 1 } }
                last.drop()
                withExtendedLifetime(resolver) {}
            }
        },
        links("a promise of Promise.all") { count in
            Work(units: count) {
                let pending = (0..<count).map { _ in Promise<Int>.pending() }
                let all = Promise.all(pending.map(\.promise))
                for each in pending { each.resolver.resolve(1) }
                let values = try await all.value
                precondition(values.count == count)
            }
        },
    ]

    private static func links(_ name: String, _ prepare: @escaping @Sendable (Int) -> Work) -> Kind {
        Kind(plot: "Promises", name: name, prepare: prepare)
    }
}
