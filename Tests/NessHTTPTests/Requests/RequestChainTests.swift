import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Requests from a URL to a result in one chain.
@Suite(.inTurn(.withoutSockets)) struct RequestChainTests {
    @Test("a chain that begins with a URL sets every option of a request and its end")
    func everything() async throws {
        let rig = Rig(), heard = Log<String>(), encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        rig.mock.on(.put, "/x", replies: [.status(503), .text("made", status: 201)])
        struct Cat: Encodable { let catName = "Fluffles" }
        let builder = rig.ness.httpRequest(.put, withUrl: "x")
            .set(urlParameters: ["page": 1])
            .set(headers: ["X-A": "1"])
            .set(jsonEncodable: Cat(), with: encoder)
            .validate(statusCode: 201)
            .set(timeout: .seconds(5), deadline: .seconds(50))
            .set(redirects: .stop)
            .add(group: "cats")
        _ = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 1))
            .handle(onMain: { _ in heard.add("error") })
            .finally(onMain: { result, _ in heard.add("end \(result?.message.text ?? "")") })
            .value
        #expect(heard.entries == ["end made"])
        #expect(rig.mock.requests.count == 2)
        let request = try #require(rig.mock.received.first)
        #expect(request.target == "/x?page=1" && request.bodyText == #"{"cat_name":"Fluffles"}"# && request.headers["X-A"] == "1")
        let built = try builder.build()
        #expect(built.timeout == .seconds(5) && built.deadline == .seconds(50))
        // A wire of its own.
        let mocked = try await builder.mock(.text("mocked", status: 201)).dataRequest().value.message
        #expect(mocked.text == "mocked" && rig.mock.requests.count == 2)
    }

    @Test("a chain ends in a response, a string, bytes, a decoded value or a custom model, and can start from them")
    func ends() async throws {
        let rig = Rig(onUnmatched: .reply(.json(User(id: 1, name: "a"))))
        let chain = rig.ness.httpRequest(withUrl: "x"),
            text = String(decoding: try JSONEncoder().encode(User(id: 1, name: "a")), as: UTF8.self)
        #expect(rig.mock.requests.isEmpty)
        #expect(try await chain.dataRequest().value.message.statusCode == 200)
        #expect(try await chain.dataRequest().then { $0.message.text }.value.count == text.count)
        #expect(try await chain.dataRequest().then { $0.responseData }.value.count == text.utf8.count)
        #expect(try await chain.dataRequest(decoding: User.self).value == User(id: 1, name: "a"))
        let model = TypedRequest(.get, "x") { "\($0.statusCode) \($0.body.count)" }
        #expect(try await rig.ness.request(model).value == "200 \(text.utf8.count)")
        #expect(rig.mock.requests.count == 5)
        let latin = Rig(onUnmatched: .reply(.data(Data([0xFC]), contentType: "text/plain; charset=ISO-8859-1")))
        #expect(try await latin.ness.httpRequest(withUrl: "x").dataRequest().value.message.text == "ü")
    }
}
