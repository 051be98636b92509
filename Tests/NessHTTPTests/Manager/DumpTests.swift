import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The texts that `dump` and `print` make of values that hold a secret.
@Suite(.inTurn) struct DumpTests {
    @Test("a running request of any kind shows no secret of its URL, header, body, manager or cookies")
    func requests() async throws {
        let goOn = TestGate(), secret = "hidden-word"
        try await withFolder { folder in
            try await withServer({ _ in
                await goOn.wait()
                return .text("ok")
            }) { configuration in
                let text = configuration.baseURL?.absoluteString.replacing("//", with: "//user:\(secret)@") ?? ""
                configuration.baseURL = URL(string: text)
                configuration.cookies = CookieJar()
                configuration.authentication = BearerAuthentication(token: secret)
                configuration.defaultHeaders["X-Api-Key"] = secret
            } _: { server, ness in
                let request = ness.post("x?token=\(secret)").set(header: "Cookie", to: "session=\(secret)")
                    .set(stringBody: "{\"password\":\"\(secret)\"}")
                let data = request.dataRequest()
                let download = request.downloadRequest(forSavedLocation: folder.appendingPathComponent("a"))
                let stream = request.streamRequest()
                await server.waitUntil { $0.busyConnections == 3 }
                for value in [ness, request, data, download, stream, stream.chunks, stream.lines] as [Any] {
                    expectHidden(secret, in: value)
                }
                expectHidden(secret, in: data.then { _ in 1 })
                goOn.open()
                let response = try await data.value
                for value in [response, response.message, data] as [Any] { expectHidden(secret, in: value) }
                expectHidden(secret, in: try await stream.value)
                download.drop()
            }
        }
    }
}
