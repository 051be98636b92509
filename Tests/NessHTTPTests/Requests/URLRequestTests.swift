import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Requests that start as a `URLRequest`.
@Suite(.inTurn) struct URLRequestTests {
    @Test("method, URL, header fields, body and timeout of a URLRequest are sent, with the manager's settings")
    func carriedOver() async throws {
        try await withServer(configure: { $0.defaultHeaders = ["X-Default": "1"] }) { server, ness in
            var old = URLRequest(url: server.url.appending(path: "a"))
            old.httpMethod = "PATCH"
            old.setValue("text/csv", forHTTPHeaderField: "Content-Type")
            old.setValue("2", forHTTPHeaderField: "X-Own")
            old.httpBody = Data("a;b".utf8)
            old.timeoutInterval = 7
            let builder = ness.httpRequest(old).set(urlParameters: ["q": 1])
            #expect(try builder.build().timeout == .seconds(7))
            _ = try await builder.dataRequest().value
            let received = try #require(server.requests.first)
            #expect(received.method == .patch && received.target == "/a?q=1" && received.bodyText == "a;b")
            #expect(["Content-Type", "X-Own", "X-Default"].map { received.headers[$0] } == ["text/csv", "2", "1"])
        }
    }

    @Test("a plain URLRequest is a GET with the manager's timeout; the kinds of networks that it forbids stay forbidden")
    func plain() throws {
        let ness = Ness { $0.timeout = .seconds(9) }
        var old = URLRequest(url: try url("https://mock.test/x"))
        let request = try ness.httpRequest(old).build()
        #expect(request.method == .get && request.body == nil && request.timeout == .seconds(9))
        #expect(request.settings.excludedNetworks.isEmpty)
        old.allowsCellularAccess = false
        let forbidding = try ness.httpRequest(old).build()
        #expect(forbidding.settings.excludedNetworks == .cellular)
        #if !canImport(FoundationNetworking)
        old.allowsExpensiveNetworkAccess = false
        #expect(try ness.httpRequest(old).build().settings.excludedNetworks == [.cellular, .expensive])
        old.allowsConstrainedNetworkAccess = false
        #expect(try ness.httpRequest(old).build().settings.excludedNetworks == [.cellular, .expensive, .constrained])
        #endif
    }

    @Test(
        "a timeout of a URLRequest that is not a duration is ignored or rejected", arguments: [.infinity, 1e300, -1, 0, .nan] as [Double])
    func timeouts(seconds: Double) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        var old = URLRequest(url: try url("https://mock.test/x"))
        old.timeoutInterval = seconds
        let promise = rig.ness.httpRequest(old).dataRequest()
        if seconds > 0 {
            #expect(try await promise.value.message.statusCode == 200)
        } else {
            #expect(await promise.nessError()?.kind == .invalidRequest)
        }
    }

    @Test("a URLRequest without a URL, and one with a body stream, fail before anything is sent")
    func invalid() async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        var old = URLRequest(url: try url("https://mock.test/x"))
        old.httpMethod = "POST"
        old.httpBodyStream = InputStream(data: Data("a".utf8))
        let streamed = await rig.ness.httpRequest(old).dataRequest().nessError()
        #expect(streamed?.kind == .invalidRequest && streamed?.context.reason.contains("set(streamBody:)") == true)
        #expect(try await rig.ness.httpRequest(old).set(stringBody: "b").dataRequest().value.message.statusCode == 200)
        old.url = nil
        #expect(await rig.ness.httpRequest(old).dataRequest().nessError()?.kind == .invalidRequest)
        #expect(rig.mock.requests.count == 1)
    }
}
