import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The host queue alone, step by step: an executor that runs only when told to shows who waits and who goes first.
@Suite(.inTurn(.withoutSockets)) struct HostQueueStepTests {
    @Test("no more requests than the limit run, and the others follow in the order of arrival", arguments: [1, 2, 3])
    func order(_ limit: Int) {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let bench = Bench(limit: limit)
        for name in 0..<7 { bench.start("http://a/\(name)") }
        bench.step()
        for name in 0..<7 {
            #expect(bench.entered == (0..<min(7, limit + name)).map { "/\($0)" })
            bench.finish("/\(name)")
            bench.step()
        }
        #expect(bench.ended == (0..<7).map { "/\($0) 200" })
    }

    @Test("a limit below one is one", arguments: [0, -1, Int.min])
    func leastLimit(_ limit: Int) {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let bench = Bench(limit: limit)
        for name in 0..<2 { bench.start("http://a/\(name)") }
        bench.step()
        #expect(bench.entered == ["/0"])
        bench.finish("/0")
        bench.step()
        #expect(bench.entered == ["/0", "/1"])
    }

    @Test("each origin has one queue, for every spelling")
    func origins() {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let bench = Bench(limit: 1)
        for url in [
            "http://a/1", "http://A:80/waits", "http://b/2", "https://a/3", "https://a:443/waits", "http://a:443/4", "http://a:8080/5",
        ] {
            bench.start(url)
        }
        bench.step()
        #expect(bench.entered == ["/1", "/2", "/3", "/4", "/5"])
    }

    @Test("a request that is dropped while waiting leaves immediately, and the others keep their order")
    func dropWaiting() {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let bench = Bench(limit: 1)
        let tasks = (0..<5).map { bench.start("http://a/\($0)") }
        bench.step()
        tasks[1].cancel()
        tasks[3].cancel()
        bench.step()
        // While /0 still runs.
        #expect(bench.ended == ["/1 cancelled", "/3 cancelled"])
        #expect(bench.entered == ["/0"])
        for name in ["/0", "/2", "/4"] {
            bench.finish(name)
            bench.step()
        }
        #expect(bench.entered == ["/0", "/2", "/4"])
        #expect(bench.ended.suffix(3) == ["/0 200", "/2 200", "/4 200"])
    }

    @Test("a request that is dropped before the queue never waits in it")
    func dropBefore() {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let bench = Bench(limit: 1)
        bench.start("http://a/0")
        bench.step()
        bench.start("http://a/1").cancel()
        bench.step()
        #expect(bench.ended == ["/1 cancelled"])
        bench.start("http://a/2")
        bench.finish("/0")
        bench.step()
        #expect(bench.entered == ["/0", "/2"])
    }

    @Test("of 10,000 waiting requests a third is dropped, and the others run in the order of arrival")
    func many() {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let count = 10_000, bench = Bench(limit: 1)
        let tasks = (0..<count).map { bench.start("http://a/\($0)") }
        bench.step()
        for number in stride(from: 1, to: count, by: 3) { tasks[number].cancel() }
        bench.step()
        #expect(bench.ended.count == count / 3 && bench.entered == ["/0"])
        let left = (0..<count).filter { $0 % 3 != 1 }.map { "/\($0)" }
        for name in left {
            bench.finish(name)
            bench.step()
        }
        #expect(bench.entered == left && bench.most == 1)
    }

    @Test("a raised limit admits the first requests, and a limit of zero admits no request")
    func changingLimit() {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return }
        let bench = Bench(limit: 1)
        let tasks = (0..<8).map { bench.start("http://a/\($0)") }
        bench.step()
        bench.limit = 3
        bench.step()
        #expect(bench.entered == ["/0", "/1", "/2"])
        bench.limit = 0
        for name in ["/0", "/1", "/2"] { bench.finish(name) }
        tasks[4].cancel()
        bench.step()
        #expect(bench.entered.count == 3 && bench.running == 0)
        bench.limit = 2
        bench.step()
        #expect(bench.entered == ["/0", "/1", "/2", "/3", "/5"])
    }
}

/// A host queue with requests in it, none of which moves by itself.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class Bench: Sendable {
    private let executor = StepExecutor()
    private let queue: Limiter<ParsedURL.Origin>
    private let tally = Tally()
    private let log = Lock((entered: [String](), ended: [String]()))
    private let pending = Lock<[String: @Sendable (Result<HTTPResponse, any Error>) -> Void]>([:])

    init(limit: Int) { queue = Limiter(limit: limit) }

    var limit: Int {
        get { queue.limit }
        set { queue.limit = newValue }
    }
    var entered: [String] { log.withLock { $0.entered } }
    var ended: [String] { log.withLock { $0.ended } }
    var running: Int { tally.now }
    var most: Int { tally.most }

    /// Starts a request; it has not come to the queue before `step()`.
    @discardableResult
    func start(_ text: String) -> Task<Void, Never> {
        Task(executorPreference: executor) { [self] in
            guard let url = URL(string: text) else { return }
            let outcome: String
            do {
                let (lane, waiter) = queue.enter(ParsedURL(url).origin)
                try await waiter?.wait()
                defer { queue.leave(lane) }
                outcome = "\(try await exchange(HTTPRequest(url: url)).statusCode)"
            } catch is CancellationError {
                outcome = "cancelled"
            } catch {
                outcome = "failed"
            }
            log.withLock { $0.ended.append("\(url.path) \(outcome)") }
        }
    }

    @Sendable private func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        tally.enter()
        defer { tally.leave() }
        log.withLock { $0.entered.append(request.url.path) }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let resume: @Sendable (Result<HTTPResponse, any Error>) -> Void = { continuation.resume(with: $0) }
                pending.withLock { $0[request.url.path] = resume }
                if Task.isCancelled { finish(request.url.path, by: CancellationError()) }
            }
        } onCancel: {
            finish(request.url.path, by: CancellationError())
        }
    }

    /// Has a running request end, at the next step.
    func finish(_ path: String, by error: (any Error)? = nil) {
        guard let url = URL(string: "http://a"), let resume = pending.withLock({ $0.removeValue(forKey: path) }) else { return }
        resume(error.map(Result.failure) ?? .success(HTTPResponse(statusCode: 200, request: HTTPRequest(url: url))))
    }

    /// Runs jobs until there are none left, or so many.
    /// - Returns: Whether there was one.
    @discardableResult
    func step(atMost count: Int = .max) -> Bool { executor.run(atMost: count) }
}
