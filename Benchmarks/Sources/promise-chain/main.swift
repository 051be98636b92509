// The cost of a hop, an await and a drop: a chain of five steps, as promises and as Swift tasks. Without a hop: as promises, and as the
// futures of SwiftNIO and OpenCombine.
//   swift run -c release --package-path Benchmarks promise-chain
import Measure
import NIOCore
import NIOPosix
import NessPromise
import OpenCombine
import Synchronization

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

// The next three chains hop to no other thread, and nobody awaits them: the fifth step leaves the value.

@Sendable func promisesInPlace() {
    let outcome = Atomic(0)
    for _ in 0..<count {
        let (promise, resolver) = Promise<Int>.pending()
        let last = promise.then(on: .immediate, increment).then(on: .immediate, increment).then(on: .immediate, increment)
            .then(on: .immediate, increment).then(on: .immediate) { outcome.store(try increment($0), ordering: .relaxed) }
        resolver.resolve(0)
        precondition(outcome.exchange(0, ordering: .relaxed) == 5)
        _ = last
    }
}

@Sendable func futures(on loop: any EventLoop) async throws {
    try await loop.submit {
        let outcome = Atomic(0)
        for _ in 0..<count {
            let promise = loop.makePromise(of: Int.self)
            let last = promise.futureResult.flatMapThrowing(increment).flatMapThrowing(increment).flatMapThrowing(increment)
                .flatMapThrowing(increment).flatMapThrowing { outcome.store(try increment($0), ordering: .relaxed) }
            promise.succeed(0)
            precondition(outcome.exchange(0, ordering: .relaxed) == 5)
            _ = last
        }
    }.get()
}

@Sendable func openCombineFutures() {
    let outcome = Atomic(0)
    for _ in 0..<count {
        var fulfil: ((Result<Int, any Error>) -> Void)?
        let subscription = Future<Int, any Error> { fulfil = $0 }
            .tryMap(increment).tryMap(increment).tryMap(increment).tryMap(increment).tryMap(increment)
            .sink(receiveCompletion: { _ in }, receiveValue: { outcome.store($0, ordering: .relaxed) })
        fulfil?(.success(0))
        precondition(outcome.exchange(0, ordering: .relaxed) == 5)
        subscription.cancel()
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

@Sendable func awaitedTasks() async throws {
    for _ in 0..<count {
        let value = try await Task { try increment(4) }.value
        precondition(value == 5)
    }
}

@Sendable func awaitedPromises() async throws {
    for _ in 0..<count {
        let value = try await Promise { try increment(4) }.value
        precondition(value == 5)
    }
}

let loop = MultiThreadedEventLoopGroup.singleton.next()
let (settled, pending) = ("of a value that is there", "of a value to come")
let contenders: [(name: String, body: () async throws -> Void)] = [
    ("tasks, \(settled)", { try await tasks() }),
    ("tasks, \(pending)", { try await pendingTasks() }),
    ("then on the default queue, \(settled)", { try await settledPromises(on: .default) }),
    ("then on the default queue, \(pending)", { try await promises(on: .default) }),
    ("then on .immediate, \(settled)", { try await settledPromises(on: .immediate) }),
    ("then on .immediate, \(pending)", { try await promises(on: .immediate) }),
    ("then in place", { promisesInPlace() }),
    ("SwiftNIO's futures", { try await futures(on: loop) }),
    ("OpenCombine's futures", { openCombineFutures() }),
    ("awaiting a task", { try await awaitedTasks() }),
    ("awaiting a promise", { try await awaitedPromises() }),
    ("two tasks cancelled", { await cancelledTasks() }),
    ("two promises dropped", { await droppedPromises() }),
]
let costs = try await Rounds.measure(rounds(7), contenders)
for (name, _) in contenders { print("\(name): \(decimal(median(costs.micros(name, per: count)))) µs each") }
for root in [settled, pending] {
    let onQueue = costs.ratios("then on the default queue, \(root)", to: "tasks, \(root)")
    let name = "five `then` on the default queue, \(root), times a chain of tasks"
    try Row(name, onQueue, .atMost(0.5), missedBecause: Reason.hop).report()
    let immediate = costs.ratios("then on .immediate, \(root)", to: "tasks, \(root)")
    try Row("five `then` on `.immediate`, \(root), times a chain of tasks", immediate).report()
}
let inPlace = "five `then` on `.immediate`, \(pending)"
let nio = costs.ratios("then in place", to: "SwiftNIO's futures")
try Row("\(inPlace), times SwiftNIO's futures on their loop", nio, .atMost(1), missedBecause: Reason.anyThread).report()
try Row("\(inPlace), times OpenCombine's futures", costs.ratios("then in place", to: "OpenCombine's futures")).report()
let awaited = costs.ratios("awaiting a promise", to: "awaiting a task")
try Row("`await promise.value` of `Promise { … }`, times awaiting a task", awaited, .atMost(1.2), missedBecause: Reason.awaitedPromise)
    .report()
try Row("dropping two promises, times cancelling two tasks", costs.ratios("two promises dropped", to: "two tasks cancelled")).report()
