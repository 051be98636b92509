import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// A crawl with cookies and a cache in a folder, and another one after it. Not under the thread sanitizer: it takes thousands of requests.
@Suite struct CrawlerLoadTests {
    @Test("a second run over 3,000 pages with a rolling session downloads only those without a validator")
    func crawler() async throws {
        let unchanged = Tally(), visits = Tally()
        // Every tenth page has no validator, every seventh is behind a redirect, every fifth varies by the session.
        let answer: TestServer.Handler = { request in
            let url = request.path
            guard let number = Int(url.dropFirst(3)) else { return .status(404) }
            let cookie: HTTPHeaders = ["Set-Cookie": "session=\(visits.enter()); Path=/"]
            if url.hasPrefix("/r") { return .status(301, headers: cookie.merging(["Location": "/p/\(number)"])) }
            if number % 10 == 0 { return .text("page \(number)", headers: cookie) }
            let tag = "\"\(number)\""
            var headers = cookie.merging(["ETag": tag, "Content-Type": number % 2 == 0 ? "text/html" : "application/json"])
            if number % 5 == 1 { headers["Vary"] = "Cookie" }
            guard request.headers["If-None-Match"] == tag else { return .text("page \(number)", headers: headers) }
            unchanged.enter()
            return .status(304, headers: headers)
        }
        let server = try await TestServer.start(answer)
        try await stopping(server) { server in
            try await withFolder { folder in
                for run in 1...2 {
                    let ness = Ness {
                        $0.baseURL = server.url
                        $0.cookies = CookieJar()
                        // A busy disk must not count as a missing response.
                        $0.cache = HTTPCache(
                            memoryLimit: 1 << 20, storage: CacheFolder(folder, limit: 100 << 20), storageTimeout: .seconds(600))
                    }
                    let texts = try await Promise.all(Array(1...3_000), atOnce: 16) { number in
                        try await ness.get(number % 7 == 0 ? "r/\(number)" : "p/\(number)").text()
                    }.value
                    #expect(texts == (1...3_000).map { "page \($0)" })
                    #expect(unchanged.total == (run == 1 ? 0 : 2_700))
                }
            }
        }
    }
}
