import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Progress: by closure, as a sequence, as Foundation's; by a clock that only the test moves.
@Suite(.inTurn(.withoutSockets)) struct ProgressTests {
    /// A manager whose wire sends pieces of 1,000 bytes, each so much later than the one before.
    private func paced(
        _ pieces: Int = 100, every interval: Duration = .milliseconds(10), clock: ManualClock = ManualClock(),
        headers: HTTPHeaders? = nil, failingAfter failure: Int? = nil, control: (any RetryControl)? = nil, after gate: TestGate? = nil
    ) -> (ness: Ness, clock: ManualClock) {
        let attempts = Tally()
        let transport = FakeTransport { _, receive in
            let isFirst = attempts.enter() == 0
            await gate?.wait()
            try await receive(.head(statusCode: 200, headers: headers ?? ["Content-Length": "\(pieces * 1_000)"]))
            for number in 0..<pieces {
                if isFirst, number == failure { throw TransportError.connectionLost }
                clock.advance(by: interval)
                try await receive(.body(Data(count: 1_000)))
            }
        }
        let ness = Ness {
            $0.transport = transport
            $0.clock = clock
            $0.baseURL = URL(string: "https://fake.test")
            $0.retryControl = control
        }
        return (ness, clock)
    }

    /// All that a closure is told of a request, to its end.
    /// - Parameter gate: Opened when the listener is there.
    private func told<Value>(_ promise: RequestPromise<Value>, opening gate: TestGate? = nil) async -> [TransferProgress] {
        let seen = Log<TransferProgress>()
        promise.onProgress { seen.add($0) }
        gate?.open()
        _ = try? await promise.value
        // Ends after the last value was told.
        for await _ in promise.progressUpdates {}
        return seen.entries
    }

    @Test("progress is reported at most ten times a second, never decreases, and always includes the last value")
    func throttled() async throws {
        let gate = TestGate()
        let (ness, _) = paced(after: gate)
        let values = await told(ness.httpRequest(withUrl: "a").dataRequest(), opening: gate)
        // One second, in 100 pieces: the first, each tenth, and the last.
        #expect((10...12).contains(values.count), "\(values.count)")
        let counts = values.map(\.completedBytes)
        #expect(counts == counts.sorted() && Set(counts).count == counts.count)
        #expect(values.last?.completedBytes == 100_000 && values.last?.fractionCompleted == 1)
        #expect(values.allSatisfy { $0.totalBytes == 100_000 })
        // 1,000 bytes each hundredth of a second.
        let speed = try #require(values.last?.bytesPerSecond)
        #expect(abs(speed - 100_000) < 1_000)
        let half = try #require(values.first { $0.completedBytes >= 50_000 })
        let left = try #require(half.estimatedTimeRemaining)
        #expect(abs(left / .seconds(1) - Double(100_000 - half.completedBytes) / 100_000) < 0.02)
    }

    @Test("a value that arrives too soon is reported a tenth of a second after the one before")
    func held() async throws {
        let clock = ManualClock(), start = TestGate(), end = TestGate(), seen = Log<Int64>()
        let ness = Ness {
            $0.clock = clock
            $0.transport = FakeTransport { _, receive in
                await start.wait()
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "3"]))
                for _ in 0..<2 { try await receive(.body(Data(count: 1))) }
                clock.advance(by: .milliseconds(100))
                await end.wait()
                try await receive(.body(Data(count: 1)))
            }
        }
        let promise = ness.httpRequest(withUrl: "https://fake.test/a").dataRequest()
        promise.onProgress { seen.add($0.completedBytes) }
        start.open()
        await seen.wait { $0.last == 2 }
        end.open()
        _ = try await promise.value
        #expect(!seen.entries.contains(1))
    }

    @Test("if no time passes, only the first and the last value are reported")
    func noTime() async {
        let (ness, _) = paced(1_000, every: .zero)
        let values = await told(ness.httpRequest(withUrl: "a").dataRequest())
        #expect(values.count <= 3 && values.last?.completedBytes == 1_000_000)
        #expect(values.allSatisfy { $0.bytesPerSecond == nil && $0.estimatedTimeRemaining == nil })
    }

    @Test("without a length there is no fraction before the end, and the sequence ends with the whole")
    func noLength() async {
        let (ness, _) = paced(5, headers: [:])
        let values = await told(ness.httpRequest(withUrl: "a").dataRequest())
        #expect(values.last?.completedBytes == 5_000 && values.last?.fractionCompleted == 1)
        #expect(values.dropLast().allSatisfy { $0.totalBytes == nil && $0.fractionCompleted == nil && $0.estimatedTimeRemaining == nil })
    }

    @Test("a request that succeeds ends at 1, even if its response has no body, or no length", arguments: [RequestKind.data, .upload])
    func endsAtOne(_ kind: RequestKind) async throws {
        for reply in [Reply.status(204), .chunked([Data("ab".utf8)]), .text("")] {
            let rig = Rig()
            rig.mock.on(.post, "/x") { _ in reply }
            let request = rig.ness.post("x").set(stringBody: "film")
            if kind == .data {
                let promise = request.dataRequest()
                _ = try await promise.value
                #expect(promise.progress.fractionCompleted == 1 && promise.downloadProgress.fractionCompleted == 1)
            } else {
                let promise = request.uploadRequest(forFileLocation: URL(filePath: #filePath))
                _ = try await promise.value
                #expect(promise.progress.fractionCompleted == 1 && promise.uploadProgress.fractionCompleted == 1)
            }
        }
        let failing = Rig()
        failing.mock.on(.get, "/x") { _ in .failure(.connectionLost) }
        let promise = failing.ness.get("x").dataRequest()
        _ = await promise.nessError()
        #expect(promise.progress.fractionCompleted == nil)
    }

    @Test("progress never decreases over a retry, and the last value is the whole", arguments: [1, 30, 99])
    func retry(failure: Int) async {
        let (ness, _) = paced(every: .milliseconds(200), failingAfter: failure, control: CounterRetryControl(maxRetryCount: 1))
        let counts = await told(ness.httpRequest(withUrl: "a").dataRequest()).map(\.completedBytes)
        #expect(counts == counts.sorted() && counts.last == 100_000)
    }

    @Test("a failure and a drop end the sequence, with the bytes received so far")
    func ends() async {
        let (ness, _) = paced(failingAfter: 50)
        let values = await told(ness.httpRequest(withUrl: "a").dataRequest())
        #expect(values.last?.completedBytes == 50_000)

        let never = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "10"]))
                await TestGate().wait()
            }
        }
        let promise = never.httpRequest(withUrl: "https://fake.test/a").dataRequest()
        let reader = Task { () -> Int in
            var count = 0
            for await _ in promise.progressUpdates { count += 1 }
            return count
        }
        promise.drop()
        #expect(await reader.value <= 1)
        #expect(promise.progress.completedBytes == 0)
    }

    @Test("a late listener gets the last value; a late sequence gets it and ends")
    func late() async throws {
        let (ness, _) = paced(3)
        let promise = ness.httpRequest(withUrl: "a").dataRequest()
        _ = try await promise.value
        let seen = Log<TransferProgress>()
        promise.onProgress { seen.add($0) }.onProgress { seen.add($0) }
        await seen.wait(for: 2)
        #expect(
            seen.entries.allSatisfy { $0 == TransferProgress(completedBytes: 3_000, totalBytes: 3_000, bytesPerSecond: $0.bytesPerSecond) })
        var values: [TransferProgress] = []
        for await value in promise.progressUpdates { values.append(value) }
        #expect(values.map(\.completedBytes) == [3_000])
    }

    @Test("a slow reader misses values, but not the last; leaving the loop does not drop the request")
    func slowReader() async throws {
        let (ness, _) = paced(every: .milliseconds(200))
        let promise = ness.httpRequest(withUrl: "a").dataRequest()
        let updates = promise.progressUpdates
        _ = try await promise.value
        var last: TransferProgress?
        for await value in updates { last = value }
        #expect(last?.completedBytes == 100_000)

        let gate = TestGate()
        let slow = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "2"]))
                try await receive(.body(Data(count: 1)))
                await gate.wait()
                try await receive(.body(Data(count: 1)))
            }
        }
        let other = slow.httpRequest(withUrl: "https://fake.test/a").dataRequest()
        for await _ in other.progressUpdates { break }
        gate.open()
        let result = try await other.value
        #expect(result.responseData.count == 2)
    }

    @Test("a download of a file that became shorter ends at the shorter length")
    func shorter() async throws {
        let long = FileServer(content: patternedData(300_000)), short = FileServer(content: patternedData(10), tag: "\"v2\"")
        try await withDownloads(of: short, { $0.number == 1 ? long.reply(to: $0).cut(after: 200_000) : $1 }) { rig in
            let promise = rig.start(with: CounterRetryControl(maxRetryCount: 1))
            let values = await told(promise)
            #expect(values.last?.completedBytes == 10 && values.last?.totalBytes == 10 && values.last?.fractionCompleted == 1)
            #expect(promise.progress == TransferProgress(completedBytes: 10, totalBytes: 10))
        }
    }

    @Test("a download's progress begins with the saved bytes, and does not count an error page")
    func download() async throws {
        try await withDownloads(of: FileServer(content: patternedData(300_000))) {
            $0.number == 1 ? $1.cut(after: 200_000) : $0.number == 2 ? .data(patternedData(250_000), status: 503) : $1
        } _: { rig in
            #expect(await rig.start().nessError()?.kind == .truncated)
            let values = await told(rig.start(with: CounterRetryControl(maxRetryCount: 1)))
            let counts = values.map(\.completedBytes)
            #expect(counts == counts.sorted() && counts.first == 200_000 && counts.last == 300_000)
            #expect(values.allSatisfy { $0.totalBytes == 300_000 })
        }
    }

    // MARK: Foundation's

    @Test("Foundation's Progress follows, and finishes in the end, with a length and without", arguments: [true, false])
    func foundation(hasLength: Bool) async throws {
        let (ness, _) = paced(headers: hasLength ? nil : [:])
        let promise = ness.httpRequest(withUrl: "a").dataRequest()
        let progress = promise.makeFoundationProgress()
        _ = try await promise.value
        for await _ in promise.progressUpdates {}
        #expect(progress.completedUnitCount == 100_000 && progress.totalUnitCount == 100_000 && progress.isFinished)
        #expect(!progress.isPausable && progress.isCancellable)
        progress.cancel()
        #expect(promise.status.text == "completed 200")
    }

    @Test("canceling Foundation's Progress drops the request; pausing and resuming it pauses and resumes a download")
    func foundationControls() async throws {
        try await withDownloads(of: FileServer(content: patternedData(300_000))) {
            $0.number == 2 ? $1 : $1.cut(after: $0.number * 50_000, then: .stall)
        } _: { rig in
            let promise = rig.start()
            let progress = promise.makeFoundationProgress()
            #expect(progress.isPausable)
            await rig.wait(for: 50_000, of: promise)
            progress.pause()
            // Foundation tells of it on a queue of its own.
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
            #expect(promise.isPaused)
            progress.resume()
            _ = try await promise.value
            #expect(rig.ranges == [nil, "bytes=50000-299999"])

            let other = rig.start("b")
            let cancelled = other.makeFoundationProgress()
            await rig.wait(for: 150_000, of: other)
            cancelled.cancel()
            #expect(await other.nessError()?.kind == .dropped)
            #expect(await rig.server.waitUntil { $0.busyConnections == 0 })
        }
    }

    @Test("a progress value never divides by zero, and its fraction is at most 1")
    func arithmetic() {
        #expect(TransferProgress(completedBytes: 0, totalBytes: 0).fractionCompleted == 1)
        #expect(TransferProgress(completedBytes: 20, totalBytes: 10).fractionCompleted == 1)
        #expect(TransferProgress(completedBytes: 5, totalBytes: 10, bytesPerSecond: 0).estimatedTimeRemaining == nil)
        #expect(TransferProgress(completedBytes: 5, totalBytes: 10, bytesPerSecond: 2.5).estimatedTimeRemaining == .seconds(2))
        #expect(TransferProgress(completedBytes: 20, totalBytes: 10, bytesPerSecond: 1).estimatedTimeRemaining == .zero)
        #expect(TransferProgress(totalBytes: .max, bytesPerSecond: 1e-300).estimatedTimeRemaining == .seconds(1e9))
        #expect(TransferProgress(completedBytes: 1, totalBytes: 2, bytesPerSecond: .infinity).estimatedTimeRemaining == .zero)
        #expect(TransferProgress(completedBytes: 1, totalBytes: 2, bytesPerSecond: .nan).estimatedTimeRemaining == nil)
    }
}
