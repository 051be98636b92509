// swift-format-ignore-file

import Foundation
import NessHTTP
import NessTesting
import Testing

// The examples of the guides on errors, loaders and transports, word for word: `GuideTests` compares them.

// ErrorsAndLogging

private func show(_ user: User) {}
private func showRetryButton() {}
private func showNothingFound() {}
private func report(_ text: String) {}

private func kinds(ness: Ness) async throws {
    do {
        show(try await ness.get("users/1").decoded(as: User.self))
    } catch let error as NessError {
        switch error.kind {
        case .dropped: break
        case .offline, .timedOut: showRetryButton()
        case .validation where error.response?.statusCode == 404: showNothingFound()
        default: report("\(error)")
        }
    }
}

private func problems(user: User) async throws {
    let ness = Ness { $0.decodingErrors = APIProblem.self }
    do {
        _ = try await ness.post("users").set(jsonEncodable: user).decoded(as: User.self)
    } catch let error as NessError where error.underlying is APIProblem {
        print((error.underlying as? APIProblem)?.detail ?? "")
    }
}

private func logging() {
    let ness = Ness { $0.observers = [RequestLogger(from: .warning) { level, text in print(level, text) }] }
    _ = ness
}

private func secrets() {
    let ness = Ness {
        $0.secretNames = ["X-Patient"]
        $0.publicNames = ["X-Cookie-Banner"]  // otherwise secret by its word "cookie"
    }
    _ = ness
}

// WritingALoader

private func closures(trace: String, span: @escaping @Sendable () -> String) {
    let ness = Ness {
        $0.loaders = [
            .modifyRequest { request in request.headers["traceparent"] = "00-\(trace)-\(span())-01" },
            .modifyResponse { response in response.headers["X-Seen"] = "yes" },
        ]
    }
    _ = ness
}

private func priorities() async throws {
    struct PriorityKey: RequestOptionKey { static let defaultValue = 0 }

    let ness = Ness { $0.loaders = [.modifyRequest { $0.headers["X-Priority"] = "\($0[PriorityKey.self])" }] }
    let urgent = try await ness.get("users/1").set(option: PriorityKey.self, to: 9).decoded(as: User.self)
    _ = urgent
}

// WritingATransport

private func conforms() async {
    let report = await TransportConformance.run({ URLSessionTransport() })
    #expect(report.isPassed, "\(report)")
}

@Suite(.inTurn) struct ExtendGuideExamples {
    /// Marks each POST, so that the server can recognize a second attempt of the same request.
    struct IdempotencyKey: HTTPLoader {
        func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
            guard request.method == .post else { return try await next(request) }
            var request = request
            request.headers["Idempotency-Key"] = UUID().uuidString
            return try await next(request)
        }
    }

    /// Answers from files in memory.
    struct BundleTransport: Transport {
        let files: [String: Data]

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            guard let file = files[request.url.path] else { return try await receive(.head(statusCode: 404, headers: [:])) }
            try await receive(.head(statusCode: 200, headers: ["Content-Length": "\(file.count)"]))
            try await receive(.body(file))
        }
    }

    /// Counts the exchanges of another transport.
    final class CountingTransport: Transport {
        let inner: any Transport
        let count: @Sendable () -> Void

        init(_ inner: any Transport, count: @escaping @Sendable () -> Void) {
            self.inner = inner
            self.count = count
        }

        var keepsContentCoding: Bool { inner.keepsContentCoding }
        var tlsCapabilities: TLSCapabilities { inner.tlsCapabilities }

        func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
            count()
            try await inner.send(request, receive: receive)
        }

        func shutdown() async { await inner.shutdown() }
    }

    @Test("a loader before `retry` runs once for each request: its key stays the same for all attempts")
    func loader() async throws {
        let keys = try await sentKeys()
        #expect(keys.count == 3 && Set(keys).count == 1)
    }

    private func sentKeys() async throws -> [String] {
        let mock = MockTransport()
        mock.on(.post, "/orders", replies: [.status(503), .status(503), .status(201)])
        let ness = Ness {
            $0.insert(IdempotencyKey(), at: .call)
            $0.transport = mock
            $0.clock = ManualClock(advancesAutomatically: true)
            $0.baseURL = URL(string: "https://mock.test")
        }
        _ = try await ness.post("orders").set(retry: CounterRetryControl(maxRetryCount: 2)).response()
        return mock.requests.compactMap { $0.headers["Idempotency-Key"] }
    }

    private func guide() {
        let ness = Ness { $0.insert(IdempotencyKey(), at: .call) }
        _ = ness
    }

    @Test("a loader is tested with a rest of the pipeline that a closure makes")
    func loaderAlone() async throws {
        let url = try #require(URL(string: "https://mock.test/orders"))
        let next = HTTPNext { HTTPResponse(statusCode: 200, headers: $0.headers, request: $0) }
        let response = try await IdempotencyKey().load(HTTPRequest(.post, url: url), next: next)
        #expect(response.headers.contains("Idempotency-Key"))
    }

    @Test("a transport answers a manager's requests")
    func transport() async throws {
        let files = ["/a.txt": Data("a".utf8)]
        let ness = Ness { $0.transport = BundleTransport(files: files) }
        #expect(try await ness.get("https://bundle.test/a.txt").text() == "a")
        #expect(try await ness.get("https://bundle.test/b.txt").response().statusCode == 404)
    }

    @Test("a transport that wraps another counts its exchanges")
    func wrapper() async throws {
        let (_, mock) = exampleManager()
        try await confirmation(expectedCount: 2) { counted in
            let ness = Ness { $0.transport = CountingTransport(mock) { counted() } }
            _ = try await ness.get("https://mock.test/users/1").response()
            _ = try await ness.get("https://mock.test/users/1").response()
        }
    }
}
