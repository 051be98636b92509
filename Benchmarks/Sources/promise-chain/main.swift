// A chain of five steps, as promises and as Swift tasks: what a hop, an await and a drop cost.
//   swift run -c release --package-path Benchmarks promise-chain
import Measure
import NessPromise

let count = 20_000

@Sendable func increment(_ value: Int) -> Int { value + 1 }

@Sendable func tasks() async {
    for _ in 0..<count {
        let first = Task { 0 }
        let second = Task { await first.value + 1 }
        let third = Task { await second.value + 1 }
        let fourth = Task { await third.value + 1 }
        let fifth = Task { await fourth.value + 1 }
        let last = Task { await fifth.value + 1 }
        let value = await last.value
        precondition(value == 5)
    }
}

@Sendable func promises(on context: some HandlerContext) async throws {
    for _ in 0..<count {
        let (promise, resolver) = Promise<Int>.pending()
        let last = promise.then(on: context, increment).then(on: context, increment).then(on: context, increment)
            .then(on: context, increment).then(on: context, increment)
        resolver.resolve(0)
        let value = try await last.value
        precondition(value == 5)
    }
}

@Sendable func cancelledTasks() async {
    for _ in 0..<count {
        let first = Task { try await Task.sleep(for: .seconds(1_000)) }
        let second = Task { try await withTaskCancellationHandler { try await first.value } onCancel: { first.cancel() } }
        second.cancel()
        _ = await second.result
    }
}

@Sendable func droppedPromises() async {
    for _ in 0..<count {
        let (promise, resolver) = Promise<Int>.pending()
        let last = promise.then(increment)
        last.drop()
        _ = try? await last.value
        _ = resolver
    }
}

let times = try await medians(
    rounds: 7,
    [
        ("five tasks", { await tasks() }),
        ("five then, default queue", { try await promises(on: .default) }),
        ("five then, .immediate", { try await promises(on: .immediate) }),
        ("two tasks cancelled", { await cancelledTasks() }),
        ("two promises dropped", { await droppedPromises() }),
    ])
for (name, time) in times.sorted(by: { $0.key < $1.key }) {
    print("\(name): \(decimal(time / .microseconds(1) / Double(count))) µs each")
}
func ratio(_ slower: String, _ faster: String) -> Double { (times[slower] ?? .zero) / (times[faster] ?? .seconds(1)) }
print("default queue: \(decimal(ratio("five tasks", "five then, default queue"))) times as fast as tasks")
print(".immediate: \(decimal(ratio("five tasks", "five then, .immediate"))) times as fast as tasks")
print("dropping: \(decimal(ratio("two tasks cancelled", "two promises dropped"))) times as fast as cancelling tasks")
