import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The requests that a builder makes: method, URL, header fields, body and options.
@Suite(.inTurn) struct RequestBuilderTests {
    private struct Page: URLConvertible {
        var number: Int
        func asURL() throws -> URL {
            if number < 0 { throw Rejected(name: "no such page") }
            return try #require(URL(string: "pages/\(number)"))
        }
    }

    @Test(
        "a request starts with a string, a URL or a custom type, and with GET by default; parameters are added to each")
    func beginnings() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))), address = try url("https://mock.test/b")
        let builders = [
            rig.ness.httpRequest(withUrl: "a"), rig.ness.httpRequest(withUrl: address), rig.ness.httpRequest(withUrl: Page(number: 3)),
            rig.ness.httpRequest(.put, withUrl: "a"),
        ]
        for builder in builders { _ = try await builder.set(urlParameters: ["q": 1]).dataRequest().value }
        let seen = rig.mock.requests.map { "\($0.method) \($0.url.absoluteString)" }
        let base = "https://mock.test"
        #expect(seen == ["GET \(base)/a?q=1", "GET \(base)/b?q=1", "GET \(base)/pages/3?q=1", "PUT \(base)/a?q=1"])
        let error = await rig.ness.httpRequest(withUrl: Page(number: -1)).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest && error?.underlying as? Rejected == Rejected(name: "no such page"))
    }

    private struct Tag: RequestOptionKey { static let defaultValue = "none" }

    @Test("the settings of a builder can be read from its request, which can be sent by other means")
    func properties() throws {
        let rig = Rig()
        let request = try rig.ness.httpRequest(.put, withUrl: "x?a=1").set(urlParameters: ["b": 2]).set(headers: ["A": "1"])
            .set(body: HTTPBody(Data("body".utf8), headers: ["Content-Type": "text/plain"]))
            .set(timeout: .seconds(5), deadline: .seconds(9)).set(redirects: .stop, allowsInsecure: true).set(option: Tag.self, to: "t")
            .build()
        #expect(request.method == .put && request.url.absoluteString == "https://mock.test/x?a=1&b=2" && request.headers["a"] == "1")
        #expect(request.body?.data == Data("body".utf8) && request.body?.headers["content-type"] == "text/plain")
        #expect(request.timeout == .seconds(5) && request.deadline == .seconds(9) && request.settings.allowsInsecureRedirects)
        #expect(request[Tag.self] == "t")
        guard case .stop = request.redirects else { return #expect(Bool(false), "it follows redirects") }
        #expect(request.curlCommand.contains("PUT") && request.curlCommand.contains("body"))
        #expect(rig.mock.requests.isEmpty)
    }

    @Test("a request has a URL, a method, header fields and a body; a hook may complete its URL")
    func parts() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200))) {
            $0.baseURL = nil
            $0.insert(
                .modifyRequest { if $0.url.scheme == nil { $0.url = try url("https://mock.test/\($0.url.relativeString)") } },
                at: .call)
        }
        _ = try await rig.ness.httpRequest(.put, withUrl: "users/1").set(headers: ["X-A": "1"]).set(stringBody: "b").dataRequest().value
        let request = try #require(rig.mock.received.first)
        #expect(request.method == .put && request.url.absoluteString == "https://mock.test/users/1")
        #expect(request.headers["X-A"] == "1" && request.bodyText == "b")
        let bare = Ness { $0.transport = rig.mock }
        #expect(await bare.httpRequest(withUrl: "users/1").dataRequest().nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.count == 1)
    }

    @Test("a priority reaches server and transport as a header field; the normal one takes it back")
    func priority() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let request = rig.ness.get("x")
        for priority in RequestPriority.allCases { _ = try await request.set(priority: .high).set(priority: priority).response() }
        #expect(rig.mock.requests.map { $0.headers["Priority"] } == ["u=5", nil, "u=1"])
        #expect(rig.mock.requests.map(RequestPriority.init(of:)) == RequestPriority.allCases)
    }

    @Test("a request may be kept off expensive and constrained networks")
    func networks() throws {
        let request = Ness().get("https://example.com/")
        let plain = try request.build()
        #expect(plain.settings.excludedNetworks.isEmpty)
        let modest = try request.set(allowsExpensiveNetworkAccess: false, allowsConstrainedNetworkAccess: false).build()
        #expect(modest.settings.excludedNetworks == [.expensive, .constrained])
        #expect(!modest.settings.excludedNetworks.contains(.cellular))
    }
}
