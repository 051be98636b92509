import Foundation
import NessHTTP
import NessTesting
import Testing

/// The ways to send a request are thin wrappers around one core.
@Suite(.inTurn) struct CallingStyleTests {
    enum Style: CaseIterable { case then, await, wait, decoding, status }

    /// Sends a request in one of the styles, and returns when its response is there.
    private func send(_ builder: RequestBuilder, _ style: Style) async throws {
        switch style {
        case .then:
            let text = Log<String>()
            _ = try await builder.dataRequest().then { text.add($0.message.text) }.value
            #expect(text.entries == ["[1]"])
        case .await:
            let text = try await builder.dataRequest().value.message.text
            #expect(text == "[1]")
        case .wait:
            let text = try await onThread { Result { try builder.dataRequest().wait(timeout: .seconds(500)).message.text } }.get()
            #expect(text == "[1]")
        case .decoding:
            let numbers = try await builder.dataRequest(decoding: [Int].self).value
            #expect(numbers == [1])
        case .status:
            let promise = builder.dataRequest()
            _ = try? await promise.value
            #expect(promise.status.text == "completed 200")
        }
    }

    @Test("the changes of two loaders arrive, in every style", .covers("FLX-18", "BF-01"), arguments: Style.allCases)
    func loaders(style: Style) async throws {
        let loaders = ["X-First", "X-Second"].map { name in
            ClosureLoader { request, next in
                var request = request
                request.headers.add("\(request.headers.count)", for: name)
                return try await next(request)
            }
        }
        try await withServer({ _ in .json([1]) }, configure: { $0.loaders = loaders }) { server, ness in
            try await send(ness.httpRequest(withUrl: "x").set(headers: ["X-Own": "own", "Accept": "*/*"]), style)
            let headers = try #require(server.requests.first?.headers)
            #expect(headers["X-Own"] == "own")
            #expect(headers["X-First"] == "2")
            #expect(headers["X-Second"] == "3")
        }
    }

    @Test("the same request sends the same bytes, in every style", .covers("BF-02"), arguments: [HTTPMethod.get, .post, .patch, .delete])
    func bytes(method: HTTPMethod) async throws {
        try await withServer({ _ in .json([1]) }, configure: { $0.defaultHeaders = ["X-Default": "d"] }) { server, ness in
            var builder = ness.httpRequest(method, withUrl: "path?a=1").set(urlParameters: ["b": "ü &"])
                .set(headers: ["X-Own": "own", "Authorization": "Bearer t", "Accept": "application/json"])
            if method != .get { builder = builder.set(jsonBody: ["name": "Fluffles", "n": [1, 2.5]]) }
            for style in Style.allCases { try await send(builder, style) }

            let requests = server.requests
            #expect(requests.count == Style.allCases.count)
            let first = try #require(requests.first)
            #expect(first.method == method)
            #expect(first.target == "/path?a=1&b=%C3%BC%20%26")
            #expect(first.headers["X-Own"] == "own" && first.headers["X-Default"] == "d" && first.headers["Authorization"] == "Bearer t")
            if method != .get { #expect(try JSONValue(parsing: first.body) == ["name": "Fluffles", "n": [1, 2.5]]) }
            for other in requests.dropFirst() {
                #expect(other.method == first.method)
                #expect(other.target == first.target)
                #expect(other.headers == first.headers)
                #expect(other.body == first.body)
            }
        }
    }
}
