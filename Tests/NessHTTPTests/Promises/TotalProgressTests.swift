import Foundation
import NessLock
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The progress of several requests together.
@Suite(.inTurn) struct TotalProgressTests {
    /// A transport that answers each path with a head, and then with pieces of 100 bytes, each a second later, when a test opens a gate.
    private final class Wire: Sendable {
        let clock = ManualClock()
        private let gates: Lock<[String: [TestGate]]>
        let lengths: [String: Int]
        let announces: Bool

        init(_ lengths: [String: Int], announces: Bool = true) {
            self.lengths = lengths
            self.announces = announces
            gates = Lock(lengths.mapValues { length in (0...length / 100).map { _ in TestGate() } })
        }

        func open(_ path: String, _ number: Int) { gates.withLock { $0[path]?[number] }?.open() }
        func openAll() { gates.withLock { Array($0.values.joined()) }.forEach { $0.open() } }

        var ness: Ness {
            Ness {
                $0.clock = clock
                $0.baseURL = URL(string: "http://x")
                $0.transport = FakeTransport { [self] request, receive in
                    let path = request.url.lastPathComponent, length = lengths[path] ?? 0
                    let waits = gates.withLock { $0[path] } ?? []
                    await waits.first?.wait()
                    if path == "broken" { throw TransportError.connectionLost }
                    try await receive(.head(statusCode: 200, headers: announces ? ["Content-Length": "\(length)"] : [:]))
                    for wait in waits.dropFirst() {
                        await wait.wait()
                        clock.advance(by: .seconds(1))
                        try await receive(.body(Data(count: 100)))
                    }
                }
            }
        }
    }

    @Test("the total is known with every length, and has a speed and a time left by the manager's clock")
    func values() async throws {
        let wire = Wire(["a": 300, "b": 100]), ness = wire.ness
        let promises = ["a", "b"].map { ness.httpRequest(withUrl: $0).dataRequest() }
        let heard = Log<TransferProgress>()
        let total = TotalProgress(of: promises).onProgress { heard.add($0) }
        #expect(total.progress == TransferProgress())
        // One change in each second, and each waits for the report of the one before: no report then comes too soon after another.
        wire.open("a", 0)
        await heard.wait(for: 1)
        wire.open("a", 1)
        await heard.wait { $0.last?.completedBytes == 100 }
        #expect(heard.entries.last?.totalBytes == nil && total.progress.estimatedTimeRemaining == nil)
        wire.clock.advance(by: .seconds(1))
        wire.open("b", 0)
        await heard.wait { $0.last?.totalBytes == 400 }
        wire.open("a", 2)
        await heard.wait { $0.last?.completedBytes == 200 }
        wire.open("b", 1)
        await heard.wait { $0.last?.completedBytes == 300 }
        let last = try #require(heard.entries.last)
        #expect(last.fractionCompleted == 0.75)
        // 300 bytes in four seconds.
        let speed = try #require(last.bytesPerSecond), left = try #require(last.estimatedTimeRemaining)
        #expect(abs(speed - 75) < 1 && abs(left / .seconds(1) - 100 / speed) < 0.01)
        wire.open("a", 3)
        var end: TransferProgress?
        for await value in total.progressUpdates { end = value }
        #expect(end?.completedBytes == 400 && end?.fractionCompleted == 1)
        #expect(total.progress == TransferProgress(completedBytes: 400, totalBytes: 400))
    }

    @Test("a request that has ended counts with the bytes that it moved: without a length, after a failure, after a drop")
    func ends() async throws {
        let wire = Wire(["a": 200, "b": 100, "broken": 100, "dropped": 100], announces: false), ness = wire.ness
        let promises = ["a", "b", "broken", "dropped"].map { ness.httpRequest(withUrl: $0).dataRequest() }
        let total = TotalProgress(of: promises)
        promises[3].drop()
        wire.openAll()
        var values: [TransferProgress] = []
        for await value in total.progressUpdates { values.append(value) }
        #expect(values.last?.completedBytes == 300 && values.last?.totalBytes == 300)
        #expect(await promises[2].nessError()?.kind == .connectionLost)
        // A sequence that starts after the end has the last value.
        for await value in total.progressUpdates { values.append(value) }
        #expect(values.last?.fractionCompleted == 1)
    }

    @Test("requests of several types that are added while others run count with them, even if nothing keeps the total")
    func added() async throws {
        let wire = Wire(["a": 100, "b": 200]), ness = wire.ness, heard = Log<TransferProgress>()
        try await withFolder { folder in
            do {
                let total = TotalProgress(of: [ness.httpRequest(withUrl: "b").dataRequest()]).onProgress { heard.add($0) }
                total.add(ness.httpRequest(withUrl: "a").downloadRequest(forSavedLocation: folder.appending(path: "a")))
                #expect(total.progress.totalBytes == nil && total.makeFoundationProgress().totalUnitCount == 2)
            }
            wire.openAll()
            await heard.wait { $0.last?.completedBytes == 300 && $0.last?.fractionCompleted == 1 }
        }
    }

    @Test("a request that is added after the end starts again: closures are called, and a new sequence ends with it")
    func addedAfterEnd() async throws {
        let wire = Wire(["a": 100, "b": 200]), ness = wire.ness, heard = Log<Int64>()
        let total = TotalProgress(of: [DataPromise]()).onProgress { heard.add($0.completedBytes) }
        // The total of no requests is complete.
        for await value in total.progressUpdates { #expect(value.fractionCompleted == 1) }
        #expect(total.makeFoundationProgress().totalUnitCount == 0)
        for (path, sum) in [("a", 100), ("b", 300)] as [(String, Int64)] {
            total.add(ness.httpRequest(withUrl: path).dataRequest())
            let updates = total.progressUpdates
            for number in 0...2 where path == "b" || number < 2 { wire.open(path, number) }
            var last: TransferProgress?
            for await value in updates { last = value }
            #expect(last == TransferProgress(completedBytes: sum, totalBytes: sum, bytesPerSecond: last?.bytesPerSecond))
            await heard.wait { $0.last == sum }
        }
        #expect(heard.entries == heard.entries.sorted())
    }

    @Test(
        "Foundation's Progress has a child of equal share for each request, and finishes with and without lengths",
        arguments: [true, false])
    func foundation(hasLengths: Bool) async throws {
        let wire = Wire(["a": 1_000, "b": 100, "none": 0], announces: hasLengths), ness = wire.ness
        let promises = ["a", "b", "none"].map { ness.httpRequest(withUrl: $0).dataRequest() }
        let total = TotalProgress(of: promises)
        let progress = total.makeFoundationProgress()
        #expect(progress.totalUnitCount == 3 && progress.completedUnitCount == 0)
        for number in 0...1 { wire.open("b", number) }
        _ = try await promises[1].value
        for await _ in promises[1].progressUpdates {}
        #expect(progress.completedUnitCount == 1)
        wire.openAll()
        for promise in promises { for await _ in promise.progressUpdates {} }
        #expect(progress.isFinished && progress.fractionCompleted == 1)
    }

    @Test("requests that report at the same moment lose nothing of a common Foundation Progress")
    func foundationOfMany() {
        let whole = Progress(totalUnitCount: 8)
        let children = (0..<8).map { _ in SharedProgress(Progress(totalUnitCount: 1_000)) }
        for child in children { child.change { whole.addChild($0, withPendingUnitCount: 1) } }
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            for count in 1...1_000 { children[number].change { $0.completedUnitCount = Int64(count) } }
        }
        #expect(whole.completedUnitCount == 8 && whole.fractionCompleted == 1)
    }

    @Test("canceling Foundation's Progress drops all requests")
    func cancel() async throws {
        let wire = Wire(["a": 100, "b": 100]), ness = wire.ness
        let promises = ["a", "b"].map { ness.httpRequest(withUrl: $0).dataRequest() }
        let progress = TotalProgress(of: promises).makeFoundationProgress()
        progress.cancel()
        for promise in promises { #expect(await promise.nessError()?.kind == .dropped) }
        wire.openAll()
    }
}
