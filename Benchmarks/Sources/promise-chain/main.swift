// The cost of a hop, an await and a drop: a chain of five steps, as promises and as Swift tasks.
//   swift run -c release --package-path Benchmarks promise-chain
import Measure
import NessPromise

let count = 20_000

// The function is `throws` because the steps of a request can throw. Both chains pay for that.
@Sendable func increment(_ value: Int) throws -> Int { value + 1 }

@Sendable func tasks() async throws {
    for _ in 0..<count {
        let first = Task { try increment(-1) }
        let second = Task { try increment(try await first.value) }
        let third = Task { try increment(try await second.value) }
        let fourth = Task { try increment(try await third.value) }
        let fifth = Task { try increment(try await fourth.value) }
        let last = Task { try increment(try await fifth.value) }
        let value = try await last.value
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

@Sendable func settledPromises(on context: some HandlerContext) async throws {
    for _ in 0..<count {
        let last = Promise.resolved(0).then(on: context, increment).then(on: context, increment).then(on: context, increment)
            .then(on: context, increment).then(on: context, increment)
        let value = try await last.value
        precondition(value == 5)
    }
}

@Sendable func pendingTasks() async throws {
    for _ in 0..<count {
        let gate = AsyncStream<Int>.makeStream()
        let first = Task {
            for await value in gate.stream { return value }
            throw CancellationError()
        }
        let second = Task { try increment(try await first.value) }
        let third = Task { try increment(try await second.value) }
        let fourth = Task { try increment(try await third.value) }
        let fifth = Task { try increment(try await fourth.value) }
        let last = Task { try increment(try await fifth.value) }
        gate.continuation.yield(0)
        let value = try await last.value
        precondition(value == 5)
    }
}

@Sendable func cancelledTasks() async {
    for _ in 0..<count {
        let first = Task { try await Task.sleep(for: .seconds(1_000)) }
        let second = Task {
            try await withTaskCancellationHandler {
                try await first.value
            } onCancel: {
                first.cancel()
            }
        }
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
        ("tasks, of a value that is there", { try await tasks() }),
        ("tasks, of a value to come", { try await pendingTasks() }),
        ("then on the default queue, of a value that is there", { try await settledPromises(on: .default) }),
        ("then on the default queue, of a value to come", { try await promises(on: .default) }),
        ("then on .immediate, of a value that is there", { try await settledPromises(on: .immediate) }),
        ("then on .immediate, of a value to come", { try await promises(on: .immediate) }),
        ("two tasks cancelled", { await cancelledTasks() }),
        ("two promises dropped", { await droppedPromises() }),
    ])
for (name, time) in times.sorted(by: { $0.key < $1.key }) {
    print("\(name): \(decimal(time / .microseconds(1) / Double(count))) µs each")
}
func ratio(_ slower: String, _ faster: String) -> Double { (times[slower] ?? .zero) / (times[faster] ?? .seconds(1)) }
for root in ["of a value that is there", "of a value to come"] {
    print("default queue, \(root): \(decimal(ratio("tasks, \(root)", "then on the default queue, \(root)"))) times as fast as tasks")
    print(".immediate, \(root): \(decimal(ratio("tasks, \(root)", "then on .immediate, \(root)"))) times as fast as tasks")
}
print("dropping: \(decimal(ratio("two tasks cancelled", "two promises dropped"))) times as fast as cancelling tasks")
