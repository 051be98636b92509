import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Many requests at once, dropped at any moment: every promise settles exactly once, and nothing is left behind.
@Suite(.inTurn) struct StressTests {
    @Test("4,000 requests that 8 threads drop at random moments all settle once, and leave nothing behind")
    func drops() async throws {
        let server = try await TestServer.start(recordsRequests: false) { request in
            switch request.path {
            case "/redirect": .status(307, headers: ["Location": "/end"])
            case "/large": .data(Data(count: 200_000), contentType: "application/octet-stream")
            default: .text("\(request.body.count)")
            }
        }
        let ness = Ness {
            $0.baseURL = server.url
            $0.maximumConnectionsPerHost = 16
        }
        // What a first use keeps for good is not counted.
        _ = try await ness.httpRequest(.get, withUrl: "warm").dataRequest().value
        let threads = 8
        let each = 500
        let settled = Lock<[Int]>(Array(repeating: 0, count: threads * each))
        let running = Promise<Void>.pending()
        let left = Lock(threads * each)
        for thread in 0..<threads {
            Thread.detachNewThread {
                var generator = SeededGenerator(seed: UInt64(thread))
                var open: [DataPromise] = []
                for index in 0..<each {
                    let promise = Self.start(ness, Int(generator.next() % 5))
                    promise.finally(on: .immediate) { _, _ in
                        settled.withLock { $0[thread * each + index] += 1 }
                        let isLast = left.withLock { left in
                            left -= 1
                            return left == 0
                        }
                        if isLast { running.1.resolve(()) }
                    }
                    open.append(promise)
                    // Some are dropped at once, some when others are under way, some never.
                    if generator.next() % 3 == 0 { promise.drop() }
                    if open.count > 20 {
                        let chosen = open.remove(at: Int(generator.next() % UInt64(open.count)))
                        if generator.next() % 2 == 0 { chosen.drop() } else { _ = try? chosen.wait(timeout: .seconds(60)) }
                    }
                }
            }
        }
        try await running.0.value
        #expect(settled.withLock { $0.allSatisfy { $0 == 1 } })
        // The manager is none the worse for it, and no connection but a kept-alive one stays.
        #expect(try await ness.httpRequest(.get, withUrl: "after").dataRequest().value.message.statusCode == 200)
        await server.waitUntil { $0.openConnections <= 16 }
        await server.stop()
    }

    private static func start(_ ness: Ness, _ kind: Int) -> DataPromise {
        switch kind {
        case 0: ness.httpRequest(.get, withUrl: "plain").dataRequest()
        case 1: ness.httpRequest(.get, withUrl: "redirect").dataRequest()
        case 2: ness.httpRequest(.put, withUrl: "redirect").set(body: Data(count: 5_000)).dataRequest()
        case 3: ness.httpRequest(.post, withUrl: "upload").set(body: Data(count: 50_000)).dataRequest()
        default: ness.httpRequest(.get, withUrl: "large").dataRequest()
        }
    }
}
