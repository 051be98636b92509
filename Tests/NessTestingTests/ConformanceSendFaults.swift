import Foundation
import NessHTTP
import NessLock
import NessTesting

extension ConformanceFault {
    /// Sends a request, and collects the response.
    private static func collect(_ wire: any Transport, _ request: HTTPRequest) async throws -> [TransportEvent] {
        let events = Lock<[TransportEvent]>([])
        try await wire.send(request) { event in events.withLock { $0.append(event) } }
        return events.withLock { $0 }
    }

    /// Sends each request that meets a condition a number of times.
    private static func repeating(
        _ name: String, _ count: Int, fails: [TransportConformance.ID], when isRepeated: @escaping @Sendable (HTTPRequest) -> Bool
    ) -> ConformanceFault {
        ConformanceFault(name, fails: fails) { wire, request, receive in
            for _ in 1..<(isRepeated(request) ? count : 1) { _ = try await collect(wire, request) }
            try await wire.send(request, receive: receive)
        }
    }

    /// Sends each request that meets a condition again, a number of times, if its connection was lost.
    private static func repeatingFailed(
        _ name: String, _ count: Int, fails: [TransportConformance.ID], when isRepeated: @escaping @Sendable (HTTPRequest) -> Bool
    ) -> ConformanceFault {
        ConformanceFault(name, fails: fails) { wire, request, receive in
            for _ in 0..<(isRepeated(request) ? count : 0) {
                do {
                    return try await wire.send(request, receive: receive)
                } catch let error as TransportError where error.kind == .connectionLost {
                    continue
                }
            }
            try await wire.send(request, receive: receive)
        }
    }

    /// Faults that send too much, and answers that are another request's.
    static let sends: [ConformanceFault] = [
        ConformanceFault("keeps cookies", fails: ["contract.cookies", "contract.added-fields"]) {
            let cookie = Lock<String?>(nil)
            return Faulty { wire, request, receive in
                var request = request
                if let cookie = cookie.withLock({ $0 }), !request.headers.contains("Cookie") { request.headers["Cookie"] = cookie }
                try await wire.send(request) { event in
                    if case .head(_, let headers) = event, let set = headers.values(for: "Set-Cookie").first {
                        cookie.withLock { $0 = set }
                    }
                    try await receive(event)
                }
            }
        },
        ConformanceFault("has a cache", fails: ["contract.no-cache"]) {
            let stored = Lock<[URL: [TransportEvent]]>([:])
            return Faulty { wire, request, receive in
                if let events = stored.withLock({ $0[request.url] }) {
                    for event in events { try await receive(event) }
                    return
                }
                try await wire.send(request) { event in
                    if case .head(_, let headers) = event, headers.contains("Cache-Control") { stored.withLock { $0[request.url] = [] } }
                    stored.withLock { $0[request.url]?.append(event) }
                    try await receive(event)
                }
            }
        },
        ConformanceFault("follows redirects", fails: ["contract.redirects"]) { wire, request, receive in
            var request = request
            while true {
                let events = Lock<[TransportEvent]>([]), location = Lock<String?>(nil)
                try await wire.send(request) { event in
                    if case .head(let statusCode, let headers) = event, statusCode / 100 == 3 {
                        location.withLock { $0 = headers["Location"] }
                    }
                    if location.withLock({ $0 == nil }) { try await receive(event) } else { events.withLock { $0.append(event) } }
                }
                guard let next = location.withLock({ $0 }), let url = URL(string: next, relativeTo: request.url) else { return }
                request.url = url.absoluteURL
            }
        },
        .head("refuses redirects that lead nowhere", fails: ["contract.redirect-without-location"]) { statusCode, headers in
            if statusCode == 302, !headers.contains("Location") { throw TransportError(.malformedResponse, "there is no Location") }
        },
        ConformanceFault("answers challenges", fails: ["contract.challenges"]) { wire, request, receive in
            let isChallenged = Lock(false)
            try await wire.send(request) { event in
                if case .head(401, let headers) = event, headers["WWW-Authenticate"]?.hasPrefix("Basic") == true {
                    isChallenged.withLock { $0 = true }
                }
                try await receive(event)
            }
            if isChallenged.withLock({ $0 }) { _ = try await collect(wire, request) }
        },
        .repeating(
            "sends a POST twice", 2,
            fails: [
                "contract.method", "contract.added-fields", "resends.once", "resends.once-of-many", "resends.late-unasked-answer",
                "resends.unasked-408", "resends.unasked-garbage", "load.mixture",
            ]
        ) { $0.method == .post },
        .repeating("sends a GET three times", 3, fails: ["resends.twice", "resends.twice-of-many"]) {
            $0.isIdempotent && $0.url.path.hasPrefix("/GET/")
        },
        .repeatingFailed("repeats a lost POST", 1, fails: ["resends.once-on-fresh"]) { !$0.isIdempotent },
        .repeatingFailed("repeats a lost GET twice", 2, fails: ["resends.twice-on-fresh"]) { $0.isIdempotent },
        ConformanceFault(
            "answers with what came before",
            fails: ["resends.unasked-answer", "resends.late-unasked-answer", "resends.unasked-408", "resends.unasked-garbage"]
        ) { wire, request, receive in
            try await wire.send(request) { event in
                if case .body = event, request.url.path == "/2" { return try await receive(.body(Data("wrong".utf8))) }
                try await receive(event)
            }
        },
        ConformanceFault("cuts large bodies", fails: ["resends.whole-body", "bodies.memory"]) { wire, request, receive in
            var request = request
            if let body = request.body?.data, body.count > 1 << 20 { request.body = HTTPBody(body.dropLast()) }
            try await wire.send(request, receive: receive)
        },
        .events("loses the first byte of a small echo", fails: ["bodies.early-answer"]) { _, event in
            if case .body(let data) = event, data == Data("big".utf8) { [.body(data.dropFirst())] } else { [event] }
        },
        .events("counts more bytes than there are", fails: ["bodies.progress"]) { _, event in
            if case .sent(let count) = event { [.sent(count + 1)] } else { [event] }
        },
    ]
}
