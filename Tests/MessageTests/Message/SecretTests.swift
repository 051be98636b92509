import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// No description ever contains a secret.
@Suite(.inTurn) struct SecretTests {
    /// The secret of these tests. A text that contains it was not redacted.
    private static let secret = "hunter2"

    /// Prints an error, its request, its response and their headers in every way, and expects no secret.
    private func expectNoSecret(in error: NessError, sourceLocation: SourceLocation = #_sourceLocation) {
        let bridged = error as NSError
        var values: [Any] = [error, error.localizedDescription, "\(bridged.userInfo)", "\(bridged)", bridged.debugDescription]
        if let request = error.request { values += [request, request.headers] as [Any] }
        if let response = error.response { values += [response, response.headers, response.request] as [Any] }
        for value in values { expectHidden(Self.secret, in: value, sourceLocation: sourceLocation) }
    }

    private func error(
        _ urlText: String = "http://host.test/", headers: HTTPHeaders = [:], body: String = "", type: String = "application/json"
    ) throws -> NessError {
        var request = HTTPRequest(.post, url: try url(urlText), headers: headers, body: try .text(body))
        request.secrets.insert(["X-Session", "pin"])
        let fields = headers.merging(["Content-Type": type])
        let response = HTTPResponse(statusCode: 400, headers: fields, body: Data(body.utf8), request: request)
        return NessError(.validation, NessError.Context(request: request, response: response, reason: "why"))
    }

    @Test(
        "a description hides secret header fields",
        arguments: ["Authorization", "authorization", "COOKIE", "Set-Cookie", "Proxy-Authorization"])
    func headers(name: String) throws {
        expectNoSecret(in: try error(headers: [name: "Bearer hunter2", "X-Other": "shown"]))
        #expect("\([name: "hunter2", "X-Other": "shown"] as HTTPHeaders)".contains("X-Other: shown"))
    }

    @Test("text without secrets is shown")
    func shown() throws {
        let text =
            "\(try error("http://h.test/?page=7&token=hunter2&q=x", body: #"{"password":"hunter2","name":"Fluffles","pin":48151623}"#))"
        #expect(text.contains("page=7") && text.contains("q=x") && text.contains("token=<redacted>"))
        #expect(text.contains("Fluffles") && text.contains(#""password":"<redacted>""#) && !text.contains("48151623"))
    }

    @Test("a description hides a secret that is truncated with the body")
    func cut() throws {
        let padding = String(repeating: "x", count: 180)
        expectNoSecret(in: try error(body: "{\"a\":\"\(padding)\",\"token\":\"hunter2hunter2hunter2\"}"))
        expectNoSecret(in: try error(body: "{\"a\":\"\(String(repeating: "x", count: 4_080))\",\"token\":\"hunter2\"}"))
    }

    @Test("the error of a real request hides the secrets of the manager and the request")
    func real() async throws {
        let base = try await refusingURL()
        let ness = Ness { configuration in
            configuration.secretNames = ["X-Session"]
            configuration.defaultHeaders = ["Authorization": "Bearer hunter2", "Cookie": "s=hunter2"]
        }
        let query = "?token=hunter2&x-session=hunter2"
        for text in ["http://user:hunter2@127.0.0.1:\(base.port ?? 0)/\(query)", "ftp://u:hunter2@h/\(query)"] {
            let promise = ness.httpRequest(.post, withUrl: text).set(form: ["password": "hunter2"]).dataRequest()
            let error = try #require(await promise.nessError())
            expectNoSecret(in: error)
            #expect("\(error)".contains("<redacted>"))
        }
    }

    @Test("the fields of a response hide what is secret in its request, and a single field hides what its name suggests")
    func headersOfResponse() throws {
        let error = try error(headers: ["X-Session": Self.secret, "Authorization": "Bearer \(Self.secret)"])
        let headers = try #require(error.response?.headers)
        let fields = headers.filter { $0.name == "Authorization" }
        for value in [headers, fields] as [Any] + fields.map({ $0 as Any }) { expectHidden(Self.secret, in: value) }
    }

    @Test(
        "a JSON value beside a secret name, and a credential as a JSON string, are hidden",
        arguments: [
            #"{"name":"DB_PASSWORD","value":"hunter2"}"#, #"[{"key":"Authorization","type":"text","value":["hunter2"]}]"#,
            #"{"m":"Bearer hunter2"}"#, #"["basic YTpodW50ZXIy"]"#,
            #"{"value":"hunter2","name":"password"}"#, #"[{"Value":{"a":["hunter2"]},"x":1,"Key":"db.password"}]"#,
            #"{"value":"hunter2","more":[{"name":"color"}],"name":"token","key":"color"}"#,
            #"{"name":"password","data":{"value":"hunter2"}}"#, #"{"data":[{"value":"hunter2"}],"name":"password"}"#,
            // The name may stand in the part that was cut off.
            #"{"value":"hunter2","list":[{"name":"color"},"#, #"[{"value":"hunter2""#, #"{"value":"hunter2","name":"passw"#,
        ])
    func secretBesideName(body: String) {
        let shown = Redactor().snippet(of: Data(body.utf8), contentType: "application/json")
        #expect(!shown.contains(Self.secret) && !shown.contains("YTpodW50ZXIy"))
    }

    @Test("a hidden JSON value keeps the spaces before it") func spacesBeforeValue() {
        let spaced = Redactor().snippet(of: Data(#"{"password" : "hunter2"}"#.utf8), contentType: "application/json")
        #expect(spaced.contains(#""password" : "#) && !spaced.contains("hunter2"))
    }

    @Test("JSON values beside ordinary names are shown") func ordinaryBesideName() {
        let body = #"{"name":"color","value":"tabby","m":"Basic features","n":"Bearer of news"}"#
        #expect(Redactor().snippet(of: Data(body.utf8), contentType: "application/json") == "\"\(body)\"")
        let list = #"[{"value":"a","name":"color"},{"value":"b"},{"name":"password"},{"value":"c","x":{"name":"password"}}]"#
        #expect(Redactor().snippet(of: Data(list.utf8), contentType: "application/json") == "\"\(list)\"")
    }

    @Test("a builder hides every secret that its request hides: in its description, and in the error of a request that cannot be made")
    func builder() throws {
        let builder = Ness().httpRequest(.post, withUrl: "https://h.test/echo/\(Self.secret)?q=\(Self.secret)")
        let senders = [
            builder.set(headers: ["Authorization": "Bearer \(Self.secret)"]), builder.set(headers: ["Cookie": "id=\(Self.secret)"]),
            builder.set(form: ["password": Self.secret]), builder.set(header: "X-Own", to: Self.secret).set(secretNames: ["X-Own"]),
        ]
        for builder in senders {
            #expect("\(builder)" == "\(try builder.build())")
            expectHidden(Self.secret, in: builder)
        }
        let broken = Ness().httpRequest(.post, withUrl: "http://h.test:x/\(Self.secret)")
            .set(headers: ["Authorization": "Bearer \(Self.secret)"])
        #expect(!"\(broken)".contains(Self.secret))
        #expect(throws: NessError.self) { try broken.build() }
        #expect(!"\(Result { try broken.build() })".contains(Self.secret))
    }

    @Test("a combining scalar beside a delimiter reveals no secret")
    func combining() throws {
        let mark = "\u{301}", url = try #require(URL(string: "https://h.test/"))
        let fields: [HTTPHeaders] = [
            ["Cookie": "a=1;\(mark)b=\(Self.secret)x"], ["Cookie": "b=\(mark)\(Self.secret)"],
            ["Authorization": "Bearer \(mark)\(Self.secret)"],
            ["Authorization": "Basic " + Data("me:\(mark)\(Self.secret)".utf8).base64EncodedString()],
        ]
        for headers in fields {
            let shown = HTTPRequest(url: url, headers: headers).redactor.redacted(text: "it was \(mark)\(Self.secret)x, \(Self.secret)x")
            #expect(shown.contains("<redacted>"), "\(headers)")
        }
        #expect(!Redactor().redacted(text: "Bearer \(mark)\(Self.secret)").contains(Self.secret))
        let body = Data("--\(mark)b\r\nContent-Disposition:\(mark) form-data; name=x\r\n\r\n\(Self.secret)".utf8)
        #expect(Redactor.hasParts(body, nil) && Redactor.hasParts(Data(), "multipart/\(mark)x"))
    }
}
