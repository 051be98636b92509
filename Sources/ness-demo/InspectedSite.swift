import Foundation
import NessLock
import NessTesting

/// The site of `ness-demo inspect`: slow, sometimes busy, with tokens that expire.
final class InspectedSite: Sendable {
    private struct State: Sendable {
        /// The number of the token that is valid.
        var token = 0
        /// The number of requests to `/busy`.
        var busy = 0
    }

    private let state = Lock(State())
    /// The film: 256 chunks of 4 KiB.
    private static let film = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    /// Makes the current token invalid.
    func expireTokens() { state.withLock { $0.token += 1 } }

    func reply(to request: ReceivedRequest) async throws -> Reply {
        switch request.path {
        case "/login": .json(["access_token": "token-\(state.withLock { $0.token })"]).delayed(by: .milliseconds(400))
        case "/feed": .json(["items": [["id": 1, "title": "Tom"], ["id": 2, "title": "Felix"]]]).delayed(by: .milliseconds(250))
        case "/busy":
            state.withLock({
                $0.busy += 1; return $0.busy % 2 == 1
            })
                ? .status(503, headers: ["Retry-After": "1"]) : .json(["busy": false])
        case "/settings":
            request.headers["If-None-Match"] == "\"1\""
                ? .status(304, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=2"])
                : .json(["theme": "dark"], headers: ["ETag": "\"1\"", "Cache-Control": "max-age=2"])
        case "/old": .status(302, headers: ["Location": "/new"])
        case "/new": .text("moved here").delayed(by: .milliseconds(60))
        case "/film": film(request)
        case "/logo.png": .data(Self.logo, contentType: "image/png")
        case "/never": .text("at last").delayed(by: .seconds(60))
        case let path where path.hasPrefix("/photos/"): photo(request)
        default: .json(["error": "no such page", "hint": "<script>alert(1)</script>"], status: 404)
        }
    }

    private func photo(_ request: ReceivedRequest) -> Reply {
        let valid = state.withLock { "Bearer token-\($0.token)" }
        guard request.headers["Authorization"] == valid else { return .status(401, headers: ["WWW-Authenticate": "Bearer"]) }
        return .data(Self.logo, contentType: "image/png", headers: ["Cache-Control": "no-store"]).delayed(by: .milliseconds(120))
    }

    /// The film in 16 chunks, each a moment after the one before.
    private func film(_ request: ReceivedRequest) -> Reply {
        var first = 0
        if let range = request.headers["Range"], let start = Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }) {
            first = min(start, Self.film.count - 1)
        }
        let (film, step) = (Self.film, Self.film.count / 16)
        let status = first == 0 ? "200 OK" : "206 Partial Content\r\nContent-Range: bytes \(first)-\(film.count - 1)/\(film.count)"
        let next = Lock(min(first, film.count))
        return .script([
            .send("HTTP/1.1 \(status)\r\nETag: \"film\"\r\nAccept-Ranges: bytes\r\nContent-Length: \(film.count - first)\r\n\r\n"),
            .sendEach {
                let start = next.withLock { start in
                    defer { start = min(start + step, film.count) }
                    return start
                }
                guard start < film.count else { return nil }
                try await Task.sleep(for: .milliseconds(60))
                return film[start..<min(start + step, film.count)]
            },
        ])
    }

    /// A picture of 32 by 32 pixels.
    private static let logo =
        Data(
            base64Encoded: """
                iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAOklEQVR42mP4sEoDK5KruIMVkaqeYdSCUQuGgAXUMgiX+lELRi0YChaMFhWjFo\
                xaMFofjFowagEQAQDmyGhbsrpPGAAAAABJRU5ErkJggg==
                """) ?? Data()
}
