// The cost of five handlers in a row, of an await and of a drop, with promises and with their counterparts: Swift tasks, and the futures of
// SwiftNIO and OpenCombine.
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

@Sendable func canceledTasks() async {
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
let five = "Five handlers in a row, on the thread that has the value"
let fiveElsewhere = "Five handlers in a row, each on a background thread"
let (awaiting, canceling) = ("Awaiting a value that is made in the background", "Canceling two steps that depend on each other")
let contenders: [(name: String, question: String, body: () async throws -> Void)] = [
    ("Ness, on .immediate", five, { promisesInPlace() }),
    ("SwiftNIO's futures", five, { try await futures(on: loop) }),
    ("OpenCombine's futures", five, { openCombineFutures() }),
    ("Ness, on the default queue", fiveElsewhere, { try await promises(on: .default) }),
    ("Swift tasks", fiveElsewhere, { try await pendingTasks() }),
    ("Ness, await promise.value", awaiting, { try await awaitedPromises() }),
    ("Swift task, await task.value", awaiting, { try await awaitedTasks() }),
    ("Ness, promise.drop()", canceling, { await droppedPromises() }),
    ("Swift tasks, task.cancel()", canceling, { await canceledTasks() }),
]
let costs = try await Rounds.measure(rounds(7), contenders.map { ($0.name, $0.body) })
for (name, question, _) in contenders {
    try Measured(question, "ns", .less, name, costs.micros(name, per: count).map { $0 * 1_000 }).report()
}
