import Foundation
import NessHTTP
import RedisStorage

// A client for the public suite of HTTP caches (github.com/http-tests/cache-tests). It reads one request per line from standard input, and
// sends it with a manager that has a cache. It writes each response as one line. `Benchmarks/cache-tests.mjs` drives it with the suite's
// own checks.
//
// The cache is in memory. With CACHE_FOLDER or CACHE_REDIS in the environment, the path of a folder or of a socket, it has no memory, and each
// stored response comes from that storage.

struct Wanted: Decodable, Sendable {
    var id: Int
    var url: String
    var method: String?
    var headers: [[String]]
    var body: String?
    /// True if a redirect is returned instead of followed.
    var keepsRedirects: Bool
}

struct Answer: Encodable, Sendable {
    var id: Int
    var status: Int?
    var headers: [[String]] = []
    var body: String?
    var error: String?
}

func makeCache() -> HTTPCache {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["CACHE_FOLDER"] {
        return HTTPCache(memoryLimit: 0, storage: CacheFolder(URL(fileURLWithPath: path), limit: 64 << 20))
    }
    if let path = environment["CACHE_REDIS"] { return HTTPCache(memoryLimit: 0, storage: RedisStorage(.socket(path: path))) }
    return HTTPCache(memoryLimit: 64 << 20)
}

let ness = Ness {
    $0.cache = makeCache()
    $0.maximumConnectionsPerHost = 32
    $0.timeout = .seconds(20)
}

@Sendable nonisolated func answer(_ wanted: Wanted, with ness: Ness) async -> Answer {
    var headers = HTTPHeaders()
    for field in wanted.headers where field.count == 2 { headers.add(field[1], for: field[0]) }
    var request = ness.httpRequest(HTTPMethod(rawValue: wanted.method ?? "GET"), withUrl: wanted.url).set(headers: headers)
    if let body = wanted.body { request = request.set(body: Data(body.utf8)) }
    if wanted.keepsRedirects { request = request.set(redirects: .stop) }
    do {
        let response = try await request.dataRequest().value.message
        return Answer(
            id: wanted.id, status: response.statusCode, headers: response.headers.map { [$0.name, $0.value] },
            body: String(decoding: response.body, as: UTF8.self))
    } catch let error as NessError where error.kind == .notCached {
        // The suite expects the status of RFC 9111, 5.2.1.7.
        return Answer(id: wanted.id, status: 504)
    } catch {
        return Answer(id: wanted.id, error: "\(error)")
    }
}

while let line = readLine() {
    guard let wanted = try? JSONDecoder().decode(Wanted.self, from: Data(line.utf8)) else { continue }
    Task.detached { [ness] in
        guard let data = try? JSONEncoder().encode(await answer(wanted, with: ness)) else { return }
        try? FileHandle.standardOutput.write(contentsOf: data + Data("\n".utf8))
    }
}
