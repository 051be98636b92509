import Foundation
import NessHTTP
import NessLock

/// Small programs about downloads, event streams and environments.
enum TransferPrograms {
    private static let content = String(repeating: "0123456789", count: 400)

    /// Serves a file with ranges, in pieces.
    private static func serveFile(_ connection: Connection) async throws {
        let range = connection.request.headers["Range"].map { $0.dropFirst("bytes=".count).split(separator: "-") } ?? []
        let start = range.first.flatMap { Int($0) } ?? 0
        let end = range.count > 1 ? Int(range[1]) ?? content.count - 1 : content.count - 1
        let body = Array(content.utf8)[start...end]
        var headers: HTTPHeaders = ["ETag": "\"1\"", "Accept-Ranges": "bytes", "Content-Length": "\(body.count)"]
        if !range.isEmpty { headers["Content-Range"] = "bytes \(start)-\(end)/\(content.count)" }
        try await connection.report(.head(statusCode: range.isEmpty ? 200 : 206, headers: headers))
        var rest = body[...]
        while !rest.isEmpty {
            try await connection.wait(.milliseconds(2))
            try await connection.report(.body(Data(rest.prefix(500))))
            rest = rest.dropFirst(500)
        }
    }

    /// Serves a version of a file. A range of another version gets the whole file.
    private static func serveVersion(_ version: Int, _ connection: Connection) async throws {
        let (content, tag) = (SimulatedFile.content(version), "\"\(version)\"")
        let asked = connection.request.headers["Range"]?.split { !$0.isNumber }.compactMap { Int($0) } ?? []
        guard asked.count == 2, connection.request.headers["If-Range"] ?? tag == tag else {
            return try await connection.respond(200, ["ETag": tag], content)
        }
        let headers: HTTPHeaders = ["ETag": tag, "Content-Range": "bytes \(asked[0])-\(asked[1])/\(content.utf8.count)"]
        try await connection.respond(206, headers, String(content.dropFirst(asked[0]).prefix(asked[1] - asked[0] + 1)))
    }

    /// Runs a closure with the URL of a file in a new folder, which is removed afterwards.
    private static func withFile(_ body: (URL) async throws -> Void) async throws {
        let folder = Scratch.folder.appending(path: "small")
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appending(path: "file"))
    }

    static let all: [SmallProgram] = [
        SmallProgram("pause-and-resume", "a download that is paused and resumed at any moment ends with the whole file") { stage in
            try await withFile { file in
                let ness = stage.manager(serve: serveFile)
                let promise = ness.httpRequest(withUrl: Stage.url).downloadRequest(forSavedLocation: file, segments: Int.random(in: 1...3))
                try await stage.together(
                    { _ = try await promise.value },
                    {
                        for _ in 0..<3 {
                            try await stage.moment()
                            promise.pause()
                            if Bool.random() { try await stage.moment() }
                            promise.resume()
                        }
                    })
                stage.expect(try String(contentsOf: file, encoding: .utf8) == content, "the file differs")
            }
        },
        SmallProgram("pause-and-timeout", "a timeout stops during a pause") { stage in
            try await withFile { file in
                let ness = stage.manager(serve: serveFile)
                let promise = ness.httpRequest(withUrl: Stage.url).set(timeout: .milliseconds(4)).downloadRequest(forSavedLocation: file)
                try await stage.meet(
                    { _ = try await promise.value },
                    {
                        promise.pause()
                        try await Task.sleep(for: .milliseconds(50))
                        promise.resume()
                    })
                stage.expect(try String(contentsOf: file, encoding: .utf8) == content, "the file differs")
            }
        },
        SmallProgram("drop-and-file", "a file is the old one or the whole new one") { stage in
            try await withFile { file in
                try "old".write(to: file, atomically: true, encoding: .utf8)
                let ness = stage.manager(serve: serveFile)
                let promise = ness.httpRequest(withUrl: Stage.url).downloadRequest(forSavedLocation: file, segments: Int.random(in: 1...3))
                try await stage.meet({ _ = try? await promise.value }, { promise.drop() })
                await ness.shutdown(within: .zero)
                let found = try String(contentsOf: file, encoding: .utf8)
                stage.expect(found == "old" || found == content, "the file has \(found.count) bytes")
            }
        },
        SmallProgram("two-downloads", "two downloads to one file each end, and leave one whole file") { stage in
            try await withFile { file in
                let ness = stage.manager(serve: serveFile)
                let requests = [Stage.url, Stage.url, "https://b.test/x"].map {
                    ness.httpRequest(withUrl: $0).downloadRequest(forSavedLocation: file)
                }
                try await stage.meet(
                    {
                        for request in requests.dropFirst() {
                            // Another resource has to wait until the file is free.
                            do { _ = try await request.value } catch { stage.expect([Stage.kind(error)], in: ["fileSystem"]) }
                        }
                    },
                    {
                        requests[0].drop()
                        _ = try? await requests[0].value
                    })
                let found = try? String(contentsOf: file, encoding: .utf8)
                stage.expect(found == nil || found == content, "the file differs")
            }
        },
        SmallProgram(
            "segments-and-new-version", "a download in parts of a file that changes starts over, and nobody reports a drop that nobody made"
        ) { stage in
            try await withFile { file in
                let changes = Set((0..<2).map { _ in Int.random(in: 2...9) })
                let version = Lock(0)
                let ness = stage.manager(serve: { connection in
                    try await connection.wait(.milliseconds(Int.random(in: 0...3)))
                    if changes.contains(connection.number) { version.withLock { $0 += 1 } }
                    try await serveVersion(version.withLock { $0 }, connection)
                }) {
                    $0.maximumConnectionsPerHost = Int.random(in: 1...3)
                    if Bool.random() { $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 3) }
                    // The download does not wait for it, so exchanges of the first version end while those of the second run.
                    if Bool.random() { $0.insert(.loader { request, next in try await next(request) }, at: .exchange) }
                    if Bool.random() { $0.maximumConcurrentRequests = Int.random(in: 1...3) }
                    if Bool.random() { $0.throttle = ThrottleLimit(rate: Double(Int.random(in: 20...2_000))) }
                }
                do {
                    _ = try await ness.httpRequest(withUrl: Stage.url).downloadRequest(forSavedLocation: file, segments: 3).value
                    stage.expect(SimulatedFile.isWhole(try Data(contentsOf: file)), "the file is not one version")
                } catch {
                    stage.expect(false, "the download fails: \(error)")
                }
            }
        },
        SmallProgram("events-keep-their-environment", "an event stream keeps the environment with which it started") { stage in
            let tokens = Lock<[String?]>([])
            let ness = stage.manager(serve: { connection in
                tokens.withLock { $0.append(connection.request.headers["X-Token"]) }
                try await connection.respond(200, ["Content-Type": "text/event-stream"], "data: one\n\n")
            }) {
                $0.baseURL = URL(string: "https://a.test/")
                $0.defaultHeaders = ["X-Token": "old"]
            }
            var count = 0
            for try await _ in ness.httpRequest(withUrl: "x").reconnectingEvents() {
                ness.environment = ServerEnvironment(baseURL: URL(string: "https://b.test/"), defaultHeaders: ["X-Token": "new"])
                count += 1
                if count == 3 { break }
            }
            let seen = tokens.withLock { $0 }
            stage.expect(seen == ["old", "old", "old"], "the connections carried \(seen)")
        },
        SmallProgram("switch-the-environment", "neither credentials nor default headers cross a switch of the environment") { stage in
            let ness = stage.manager(serve: { connection in
                let host = connection.request.url.host ?? ""
                let token = connection.request.headers["Authorization"] ?? "none"
                stage.expect(token == "Bearer \(host)", "\(host) got \(token)")
                try await connection.respond(200, [:], "ok")
            })
            @Sendable func environment(_ host: String) -> ServerEnvironment {
                ServerEnvironment(baseURL: URL(string: "https://\(host)/"), authentication: BearerAuthentication(token: host))
            }
            ness.environment = environment("a.test")
            try await stage.crowd(ness, ["0", "1", "2"]) { ness.environment = environment("b.test") }
        },
        SmallProgram("cache-and-two-readers", "a stored response is delivered whole, and a 304 gives the stored body") { stage in
            let ness = stage.manager(serve: { connection in
                let isKnown = connection.request.headers["If-None-Match"] == "\"1\""
                try await connection.wait(.milliseconds(3))
                try await connection.respond(isKnown ? 304 : 200, ["ETag": "\"1\"", "Cache-Control": "no-cache"], isKnown ? "" : "whole")
            }) { $0.cache = HTTPCache(memoryLimit: 1 << 20) }
            for _ in 0..<2 {
                try await stage.together(
                    { stage.expect(try await ness.httpRequest(withUrl: Stage.url).text() == "whole", "the first reader's body differs") },
                    { stage.expect(try await ness.httpRequest(withUrl: Stage.url).text() == "whole", "the second reader's body differs") },
                    { _ = try await stage.crowd(ness, [Stage.url]) })
            }
        },
    ]
}
