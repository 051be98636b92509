import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Progress of both directions, and by a closure of the builder.
@Suite(.inTurn(.withoutSockets)) struct UploadProgressTests {
    /// A transport that sends a body of 400 bytes in two steps, and then receives 100 bytes in two, each after its gate.
    private struct Steps: Sendable {
        let half = TestGate(), head = TestGate(), end = TestGate()
        let changed = ReceiveGates()

        func ness(length: String? = "100", _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Ness {
            Ness {
                $0.transport = FakeTransport { _, receive in
                    try await receive(.sent(100))
                    await half.wait()
                    try await receive(.sent(400))
                    await head.wait()
                    try await receive(.head(statusCode: 200, headers: length.map { ["Content-Length": $0] } ?? [:]))
                    try await receive(.body(Data(count: 50)))
                    await end.wait()
                    try await receive(.body(Data(count: 50)))
                }
                configure(&$0)
                changed.install(in: &$0)
            }
        }
    }

    @Test("until the head has arrived the fraction means the upload, then both directions", arguments: ["100", nil])
    func directions(length: String?) async throws {
        let steps = Steps()
        let promise = steps.ness(length: length).httpRequest(.post, withUrl: "http://x").set(body: Data(count: 400)).dataRequest()
        await steps.changed.changed.wait { promise.progress.completedBytes == 100 }
        #expect(promise.progress.fractionCompleted == 0.25 && promise.status.text == "running 0.25")
        #expect(promise.uploadProgress == TransferProgress(completedBytes: 100, totalBytes: 400))
        #expect(promise.downloadProgress == TransferProgress())
        steps.half.open()
        await steps.changed.changed.wait { promise.uploadProgress.fractionCompleted == 1 }
        steps.head.open()
        await steps.changed.changed.wait { promise.downloadProgress.completedBytes == 50 }
        let total = length.flatMap { Int64($0) }
        #expect(promise.progress == TransferProgress(completedBytes: 450, totalBytes: total.map { $0 + 400 }))
        #expect(promise.downloadProgress == TransferProgress(completedBytes: 50, totalBytes: total))
        steps.end.open()
        _ = try await promise.value
        #expect(promise.progress.completedBytes == 500 && promise.uploadProgress.completedBytes == 400)
    }

    @Test("a new attempt begins with the upload again, and a request without a body has no fraction before the head")
    func attempts() async throws {
        let steps = Steps(), tally = Tally(), again = TestGate()
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.sent(200))
                if tally.enter() > 0 { await again.wait() }
                try await receive(.head(statusCode: 503, headers: ["Content-Length": "100"]))
                try await receive(.body(Data(count: 100)))
            }
            steps.changed.install(in: &$0)
        }
        let promise = ness.httpRequest(.post, withUrl: "http://x").set(body: Data(count: 400))
            .dataRequest(with: CounterRetryControl(maxRetryCount: 1))
        await tally.wait(for: 2)
        #expect(promise.progress == TransferProgress(completedBytes: 200, totalBytes: 400))
        again.open()
        _ = try await promise.value
        let get = Steps()
        let plain = get.ness().httpRequest(withUrl: "http://x").dataRequest()
        await get.changed.changed.wait { plain.status.text != "idle" }
        #expect(plain.progress.fractionCompleted == nil && plain.uploadProgress.totalBytes == nil)
        plain.drop()
        for gate in [get.half, get.head, get.end] { gate.open() }
    }

    @Test("a request body without a length counts as sent as a whole when the request succeeds")
    func noLength() async throws {
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.sent(100))
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "0"]))
            }
        }
        let promise = ness.httpRequest(.post, withUrl: "http://x").set(streamBody: { try await $0.write(Data(count: 100)) }).dataRequest()
        _ = try await promise.value
        #expect(promise.uploadProgress == TransferProgress(completedBytes: 100, totalBytes: 100))
        #expect(promise.progress == TransferProgress(completedBytes: 100, totalBytes: 100))
    }

    @Test("the first progress that a closure receives contains the length of the request's body")
    func firstProgress() async throws {
        let rig = Rig(onUnmatched: .reply(.text("x"))), heard = Log<TransferProgress>()
        let request = rig.ness.post("x").set(body: Data(count: 400)).onProgress { heard.add($0) }
        _ = try await request.response()
        await heard.wait(for: 1)
        #expect(heard.entries.first == TransferProgress(completedBytes: 0, totalBytes: 400))
    }

    @Test("a part of a resumable upload starts at its first byte, before its request is sent")
    func part() {
        var counts = CallCounts()
        counts.begin(UploadPart(bytes: 0..<100, length: 100) { _ in })
        _ = counts.count(.sent(100, of: 100), attempt: 1, of: .upload)
        #expect(counts.uploadProgress == TransferProgress(completedBytes: 100, totalBytes: 100))
        // The server has lost 60 bytes.
        counts.begin(UploadPart(bytes: 40..<100, length: 100) { _ in })
        #expect(counts.uploadProgress == TransferProgress(completedBytes: 40, totalBytes: 100))
    }

    @Test("a length beyond all bounds does no harm to the sum of both directions")
    func overflow() async throws {
        let ness = Ness {
            $0.transport = FakeTransport { _, receive in
                try await receive(.head(statusCode: 200, headers: ["Content-Length": "9223372036854775806"]))
            }
        }
        let promise = ness.httpRequest(.post, withUrl: "http://x").set(body: Data(count: 400)).dataRequest()
        #expect(await promise.nessError()?.kind == .truncated)
        #expect(promise.progress.totalBytes == .max)
    }

    @Test(
        "a closure of the builder receives the progress of data, typed, awaited, uploaded, downloaded and streamed requests",
        arguments: 0..<6)
    func builder(way: Int) async throws {
        let rig = Rig(onUnmatched: .reply(.data(Data(#"{"id":1,"name":"a"}"#.utf8), contentType: "application/json")))
        let heard = Log<TransferProgress>()
        let request = rig.ness.httpRequest(.put, withUrl: "x").onProgress { heard.add($0) }
        try await withFolder { folder in
            let file = folder.appending(path: "a")
            try Data("file".utf8).write(to: file)
            switch way {
            case 0: _ = try await request.dataRequest().value
            case 1: _ = try await request.dataRequest(decoding: User.self).value
            case 2: _ = try await request.decoded(as: User.self)
            case 3: _ = try await request.uploadRequest(forFileLocation: file).value
            case 4: _ = try await request.downloadRequest(forSavedLocation: folder.appending(path: "b")).value
            default: for try await _ in request.streamRequest().chunks {}
            }
            let last: Int64 = way == 3 ? 4 : 19
            await heard.wait { $0.last?.completedBytes == last }
        }
    }

    @Test("the progress of a stream continues after its head, and ends with its body", arguments: [true, false])
    func stream(isRead: Bool) async throws {
        let steps = Steps()
        let promise = steps.ness().httpRequest(.post, withUrl: "http://x").set(body: Data(count: 400)).streamRequest()
        let heard = Log<TransferProgress>(), ended = TestGate()
        promise.onProgress { heard.add($0) }
        let updates = promise.progressUpdates
        Task {
            for await _ in updates {}
            ended.open()
        }
        for gate in [steps.half, steps.head] { gate.open() }
        _ = try await promise.value
        steps.end.open()
        if isRead { for try await _ in promise.chunks {} } else { promise.drop() }
        await ended.wait()
        if isRead { await heard.wait { $0.last?.completedBytes == 500 && $0.last?.fractionCompleted == 1 } }
        #expect(promise.status.text == (isRead ? "completed 200" : "dropped"))
    }

    @Test("every closure of a builder receives the progress of every request that is sent")
    func closures() async throws {
        let rig = Rig(onUnmatched: .reply(.json(User(id: 1, name: "a"))))
        let logs = [Log<TransferProgress>(), Log<TransferProgress>()]
        let request = logs.reduce(rig.ness.httpRequest(withUrl: "x")) { request, log in request.onProgress { log.add($0) } }
        for count in 1...2 {
            _ = try await request.response()
            for log in logs { await log.wait { $0.filter { $0.fractionCompleted == 1 }.count >= count } }
        }
    }
}
