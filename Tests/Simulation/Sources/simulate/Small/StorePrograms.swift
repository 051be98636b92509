import Foundation
import NessHTTP
import NessLock

/// Small programs about managers that share a cache.
enum StorePrograms {
    /// Serves a version of a resource that a write increases, with a lifetime.
    private static func serve(_ connection: Connection, _ version: borrowing Lock<Int>) async throws {
        let request = connection.request
        let user = request.headers["Authorization"] ?? "nobody"
        let number = version.withLock { version in
            if !request.method.isSafe { version += 1 }
            return version
        }
        try await connection.wait(.milliseconds(Int.random(in: 0...3)))
        try await connection.respond(200, ["Cache-Control": "max-age=60"], "\(number) \(user)")
    }

    static let all: [SmallProgram] = [
        SmallProgram("write-and-shared-cache", "after a write of one manager, no manager gets the older response from their cache") {
            stage in
            let version = Lock(0)
            let cache = cache()
            let managers = (0..<2).map { _ in stage.manager(serve: { try await serve($0, version) }) { $0.cache = cache } }
            try await stage.meet(
                {
                    for _ in 0..<3 {
                        _ = try await managers[1].httpRequest(withUrl: Stage.url).text()
                        try await stage.moment()
                    }
                },
                {
                    let written = try await managers[0].httpRequest(.put, withUrl: Stage.url).text()
                    let response = try await managers[1].httpRequest(withUrl: Stage.url).response()
                    if response.source == .cache { stage.expect(response.text == written, "the cache has \(response.text)") }
                    let read = try await managers[0].httpRequest(withUrl: Stage.url).text()
                    stage.expect(read == written, "\(read) was read after \(written)")
                })
            try? FileManager.default.removeItem(at: folder)
        },
        SmallProgram("users-of-a-shared-cache", "no user gets another user's response from a cache that their managers share") { stage in
            let version = Lock(0)
            let cache = cache()
            let managers = ["ada", "bob"].map { user in
                stage.manager(serve: { try await serve($0, version) }) {
                    $0.cache = cache
                    $0.baseURL = URL(string: "https://a.test/")
                    $0.authentication = authentication(user)
                }
            }
            let read: @Sendable (Int, String) async throws -> Void = { index, user in
                for _ in 0..<3 {
                    let body = try await managers[index].httpRequest(withUrl: "x").text()
                    stage.expect(body == "0 Bearer \(user)", "\(user) gets \(body)")
                    try await stage.moment()
                }
            }
            try await stage.together({ try await read(0, "ada") }, { try await read(1, "bob") }, { await cache.removeAll() })
            try? FileManager.default.removeItem(at: folder)
        },
        SmallProgram("reset-and-shared-cache", "a reset of one manager empties the cache for all, and drops no request of another") {
            stage in
            let version = Lock(0)
            let cache = cache()
            let managers = (0..<2).map { _ in stage.manager(serve: { try await serve($0, version) }) { $0.cache = cache } }
            try await stage.meet(
                { _ = try await managers[1].httpRequest(withUrl: Stage.url).text() },
                { await managers[0].reset() })
            version.withLock { $0 += 1 }
            await managers[0].reset()
            let read = try await managers[1].httpRequest(withUrl: Stage.url).text()
            stage.expect(read == "1 nobody", "\(read) was read after the reset")
            try? FileManager.default.removeItem(at: folder)
        },
        SmallProgram(
            "part-unasked", "a 206 that the request did not ask for is no success of a typed result or a download, and is not stored"
        ) {
            stage in
            let ness = stage.manager(serve: { connection in
                let range = connection.request.headers["Range"]
                if connection.number > 1, range == nil {
                    return try await connection.respond(200, ["Cache-Control": "max-age=60"], "0123456789")
                }
                let headers: HTTPHeaders = ["Content-Range": "bytes 0-4/10", "Cache-Control": "max-age=60", "ETag": "\"1\""]
                try await connection.respond(206, headers, "01234")
            }) { $0.cache = cache() }
            do {
                let text = try await ness.httpRequest(withUrl: Stage.url).text()
                stage.expect(false, "the part \(text) is a success")
            } catch {
                stage.expect([Stage.kind(error)], in: ["validation"])
            }
            let response = try await ness.httpRequest(withUrl: Stage.url).response()
            stage.expect(response.source == .network && response.text == "0123456789", "\(response.source) \(response.text)")
            try? FileManager.default.removeItem(at: folder)
        },
    ]

    /// Authenticates a user, by name or only by the credential.
    private static func authentication(_ user: String) -> any Authentication {
        if Bool.random() { return BearerAuthentication(token: user) }
        return RefreshableAuthentication(
            credential: user, userIdentifier: { $0 }, apply: { ["Authorization": "Bearer \($0)"] }, refresh: { user, _ in user })
    }

    private static let folder = Scratch.folder.appending(path: "small-cache")

    /// Makes a cache, in memory or in a folder.
    private static func cache() -> HTTPCache {
        try? FileManager.default.removeItem(at: folder)
        return Bool.random()
            ? HTTPCache(memoryLimit: 1 << 20)
            : HTTPCache(memoryLimit: Int.random(in: 0...1_000), storage: CacheFolder(folder, limit: 1 << 20))
    }
}
