import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct PagesTests {
    private struct Page: Codable, Sendable, Equatable {
        var items: [Int]
        var cursor: String?
    }

    private static func page(_ items: [Int], next: String? = nil) -> Reply {
        .json(Page(items: items), headers: next.map { ["Link": "<\($0)>; rel=\"next\""] } ?? [:])
    }

    /// Returns the elements of a paging, and the error with which it ends.
    private func collect<Element>(_ pages: Pages<Element>) async -> ([Element], (any Error)?) {
        var seen: [Element] = []
        do {
            for try await page in pages { seen.append(page) }
            return (seen, nil)
        } catch {
            return (seen, error)
        }
    }

    @Test("pages follow the links of the responses, with method, header fields and validators of the first request")
    func links() async throws {
        let rig = Rig { $0.authentication = BearerAuthentication(token: "t") }
        rig.mock.on(.get, "/list") { request in
            #expect(request.headers["X-Own"] == "1" && request.headers["Authorization"] == "Bearer t")
            return switch request.target {
            case "/list?size=2": Self.page([1, 2], next: "?page=2")
            case "/list?page=2": Self.page([3, 4], next: "https://mock.test/list?page=3")
            default: Self.page([5])
            }
        }
        let request = rig.ness.httpRequest(withUrl: "list").set(urlParameters: ["size": 2]).set(headers: ["X-Own": "1"])
        let (pages, error) = await collect(rig.ness.pages(of: request, decoding: Page.self, next: .linkHeader))
        #expect(pages.flatMap(\.items) == [1, 2, 3, 4, 5] && error == nil)
        #expect(rig.mock.requests.map(\.url.query) == ["size=2", "page=2", "page=3"])
        // Each loop starts anew.
        let (results, _) = await collect(rig.ness.pages(of: request, next: .linkHeader))
        #expect(results.map(\.message.statusCode) == [200, 200, 200])
        #expect(rig.mock.requests.count == 6)
    }

    @Test("a request is sent only when the loop asks for its page, and leaving the loop ends the paging")
    func lazy() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/list", replies: [Self.page([1], next: "/list?2"), Self.page([2], next: "/list?3")])
        let pages = rig.ness.pages(of: rig.ness.httpRequest(withUrl: "list"), decoding: Page.self, next: .linkHeader)
        #expect(rig.mock.requests.isEmpty)
        for try await page in pages {
            #expect(rig.mock.requests.count == page.items[0])
            if page.items == [2] { break }
        }
        #expect(rig.mock.requests.count == 2)
    }

    @Test(
        "a credential never goes to another origin",
        arguments: ["https://other.test/list", "https://mock.test:444/list", "//other.test/"])
    func origins(target: String) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { $0.authentication = BearerAuthentication(token: "t") }
        rig.mock.on(.get, "https://mock.test/list", replies: [Self.page([1], next: target)])
        for authenticated in [{ $0 }, { $0.authenticate() }, { $0.authenticate(with: BearerAuthentication(token: "own")) }]
            as [@Sendable (RequestBuilder) -> RequestBuilder]
        {
            rig.mock.forgetRequests()
            let request = rig.ness.httpRequest(withUrl: "list").set(headers: ["X-Api-Key": "k", "X-Own": "1", "Cookie": "c=1"])
            let (pages, error) = await collect(rig.ness.pages(of: authenticated(request), next: .linkHeader))
            #expect(pages.count == 2 && error == nil)
            let last = try #require(rig.mock.requests.last)
            #expect(last.headers["X-Own"] == "1")
            #expect(last.headers["Authorization"] == nil && last.headers["X-Api-Key"] == nil && last.headers["Cookie"] == nil)
        }
    }

    @Test("a link to another origin gets no secret default header, even without a base URL, and none of the request's loaders")
    func originsWithoutBaseURL() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) { configuration in
            configuration.baseURL = nil
            configuration.defaultHeaders = ["X-Api-Key": "k", "X-Client": "1"]
        }
        rig.mock.on(.get, "https://mock.test/list", replies: [Self.page([1], next: "https://other.test/2")])
        let request = rig.ness.get("https://mock.test/list").add(loaders: [.modifyRequest { $0.headers["X-Signature"] = "s" }])
        let (pages, error) = await collect(rig.ness.pages(of: request, next: .linkHeader))
        #expect(pages.count == 2 && error == nil)
        #expect(rig.mock.requests.map { $0.headers["X-Api-Key"] } == ["k", nil])
        #expect(rig.mock.requests.map { $0.headers["X-Signature"] } == ["s", nil])
        #expect(rig.mock.requests.map { $0.headers["X-Client"] } == ["1", "1"])
    }

    @Test("a request that a loader makes because of a page of another origin gets no credential of the manager")
    func requestsOfLoaders() async throws {
        let target = try url("https://mock.test/more")
        let rig = Rig { configuration in
            configuration.authentication = BearerAuthentication(token: "t")
            configuration.loaders = [
                ClosureLoader { request, next in
                    let response = try await next(request)
                    if response.headers.contains("X-More") { _ = try await next(HTTPRequest(url: target)) }
                    return response
                }
            ]
        }
        rig.mock.on(.get, "https://mock.test/list", replies: [Self.page([1], next: "https://other.test/list")])
        rig.mock.on(.get, "https://other.test/list", replies: [.json(Page(items: [2]), headers: ["X-More": "1"])])
        rig.mock.on(.get, "https://mock.test/more", replies: [.status(200)])
        let (pages, error) = await collect(rig.ness.pages(of: rig.ness.get("list"), decoding: Page.self, next: .linkHeader))
        #expect(pages.flatMap(\.items) == [1, 2] && error == nil)
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer t", nil, nil])
    }

    @Test("a credential that was left behind is not restored when the links return to the first origin")
    func wayBack() async throws {
        let rig = Rig()
        rig.mock.on(.get, "https://mock.test/list", replies: [Self.page([1], next: "https://other.test/x"), Self.page([3])])
        rig.mock.on(.get, "https://other.test/x", replies: [Self.page([2], next: "https://mock.test/list?3")])
        let request = rig.ness.httpRequest(withUrl: "list").set(headers: ["Authorization": "Bearer t"])
        let (pages, _) = await collect(rig.ness.pages(of: request, decoding: Page.self, next: .linkHeader))
        #expect(pages.flatMap(\.items) == [1, 2, 3])
        #expect(rig.mock.requests.map { $0.headers["Authorization"] } == ["Bearer t", nil, nil])
    }

    @Test(
        "a link that must not be followed ends the paging with an error, after the page that has it",
        arguments: ["http://mock.test/list?2", "ftp://mock.test/2", "https://", "http://[", "?1", "/other"])
    func refused(target: String) async throws {
        let rig = Rig()
        rig.mock.on(.get, "/list", replies: [Self.page([1], next: target)])
        rig.mock.on(.get, "/other", replies: [Self.page([2], next: "/list?1")])
        let (pages, error) = await collect(
            rig.ness.pages(of: rig.ness.httpRequest(withUrl: "list?1"), decoding: Page.self, next: .linkHeader))
        #expect(pages.flatMap(\.items) == (target == "/other" ? [1, 2] : [1]))
        #expect((error as? NessError)?.kind == .validation)
    }

    @Test("a page that fails ends the paging with its error; so does a status other than 2xx")
    func fails() async throws {
        for (reply, kind) in [(Reply.status(404), NessError.Kind.validation), (.failure(.connectionLost), .connectionLost)] {
            let rig = Rig()
            rig.mock.on(.get, "/list", replies: [Self.page([1], next: "/list?2"), reply])
            let (pages, error) = await collect(rig.ness.pages(of: rig.ness.httpRequest(withUrl: "list"), next: .linkHeader))
            #expect(pages.count == 1)
            #expect((error as? NessError)?.kind == kind)
        }
        let rig = Rig()
        rig.mock.on(.get, "/list", replies: [.status(503), Self.page([1])])
        let retried = rig.ness.pages(
            of: rig.ness.httpRequest(withUrl: "list").set(retry: CounterRetryControl(maxRetryCount: 1)), next: .linkHeader)
        #expect(await collect(retried).0.count == 1)
    }

    @Test("a closure makes the request of the next page from the page, and its error ends the paging")
    func closures() async throws {
        let rig = Rig()
        rig.mock.on(.post, "/search") { request in
            switch request.target {
            case "/search": .json(Page(items: [1], cursor: "a"))
            case "/search?cursor=a": .json(Page(items: [2], cursor: "b"))
            default: .json(Page(items: [3]))
            }
        }
        let search = rig.ness.httpRequest(.post, withUrl: "search").set(jsonBody: ["q": "cats"])
        let pages = rig.ness.pages(of: search, decoding: Page.self) { page, request in
            page.cursor.map { request.set(.appendAndOverwriteSameKey, urlParameters: ["cursor": $0]) }
        }
        #expect(await collect(pages).0.flatMap(\.items) == [1, 2, 3])
        #expect(rig.mock.requests.allSatisfy { $0.body?.data == Data(#"{"q":"cats"}"#.utf8) })
        let failing = rig.ness.pages(of: search) { page, _ in throw Rejected(name: page.message.text) }
        let (results, error) = await collect(failing)
        #expect(results.count == 1)
        #expect((error as? Rejected)?.name.contains("[1]") == true)
    }

    @Test("each page comes with its response, whose header fields can be read")
    func responses() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/list") { request in
            let isLast = request.target == "/list?2"
            return .json(
                Page(items: [isLast ? 2 : 1]), headers: isLast ? ["X-Left": "8"] : ["X-Left": "9", "Link": "</list?2>; rel=next"])
        }
        var seen: [String] = []
        let pages = rig.ness.pages(of: rig.ness.get("list"), decoding: Page.self, next: .linkHeader)
        for try await (page, response) in pages.withResponses { seen.append("\(page.items) \(response.headers["X-Left"] ?? "")") }
        #expect(seen == ["[1] 9", "[2] 8"])
        // A loop over the pages alone starts anew.
        #expect(await collect(pages).0.flatMap(\.items) == [1, 2])
    }

    @Test("an actor keeps an iterator and reads one page in each call; calls that overlap get different pages, in order")
    func keptIterator() async throws {
        actor Feed {
            private let pages: Pages<Page>.AsyncIterator
            init(_ pages: Pages<Page>) { self.pages = pages.makeAsyncIterator() }
            func more() async throws -> [Int]? { try await pages.next()?.items }
        }
        let rig = Rig(), arrived = TestGate(), go = TestGate()
        rig.mock.on(.get, "/list") { request in
            arrived.open()
            await go.wait()
            let number = Int(request.url.query ?? "") ?? 1
            return Self.page([number], next: number < 4 ? "/list?\(number + 1)" : nil)
        }
        let feed = Feed(rig.ness.pages(of: rig.ness.get("list"), decoding: Page.self, next: .linkHeader))
        let first = Task { try await feed.more() }
        await arrived.wait()
        let second = Task { try await feed.more() }, third = Task { try await feed.more() }
        third.cancel()
        await #expect(throws: NessError.self) { _ = try await third.value }
        #expect(rig.mock.requests.count == 1)
        go.open()
        #expect(try await first.value == [1])
        #expect(try await second.value == [2])
        for expected in [[3], [4], nil] { #expect(try await feed.more() == expected) }
    }

    @Test("canceling the task of the loop drops the request in flight")
    func cancelled() async throws {
        let rig = Rig(), arrived = TestGate()
        rig.mock.on(.get, "/list") { _ in
            arrived.open()
            await TestGate().wait()
            return .status(200)
        }
        let pages = rig.ness.pages(of: rig.ness.httpRequest(withUrl: "list"), next: .linkHeader)
        let loop = Task { await collect(pages) }
        await arrived.wait()
        loop.cancel()
        let (seen, error) = await loop.value
        #expect(seen.isEmpty)
        #expect((error as? NessError)?.kind == .dropped)
        await rig.ness.reset()
    }

    @Test("a loop keeps the environment it started with, so a switch takes no secret to a link's origin")
    func environment() async throws {
        let rig = Rig()
        rig.mock.on(.get, "https://mock.test/list") { _ in
            rig.ness.environment = ServerEnvironment(baseURL: URL(string: "https://other.test/"))
            return Self.page([1], next: "https://other.test/list")
        }
        rig.mock.on(.get, "https://other.test/list") { _ in Self.page([2]) }
        let request = rig.ness.get("list").set(header: "X-Api-Key", to: "of mock.test")
        let (pages, _) = await collect(rig.ness.pages(of: request, decoding: Page.self, next: .linkHeader))
        #expect(pages.flatMap(\.items) == [1, 2])
        #expect(rig.mock.requests.map { $0.headers["X-Api-Key"] } == ["of mock.test", nil])
    }
}
