import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

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
            #"{"m":"Bearer hunter2"}"#, #"["basic YTpodW50ZXIy"]"#, #""Bearer hunter2""#,
            #"{"value":"hunter2","name":"password"}"#, #"[{"Value":{"a":["hunter2"]},"x":1,"Key":"db.password"}]"#,
            #"{"value":"hunter2","more":[{"name":"color"}],"name":"token","key":"color"}"#,
            #"{"name":"password","data":{"value":"hunter2"}}"#, #"{"data":[{"value":"hunter2"}],"name":"password"}"#,
            // The name may stand in the part that was cut off.
            #"{"value":"hunter2","list":[{"name":"color"},"#, #"[{"value":"hunter2""#, #"{"value":"hunter2","name":"passw"#,
            #"{"value":"hunter2","name":null,"key""#,
            // A credential that is cut off is not recognized, so it is left out.
            #"{"m":"Bearer hunter2"#,
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

    @Test("JSON that is cut off is shown up to its last complete value")
    func cutOff() {
        func shown(_ text: String) -> String { Redactor().snippet(of: Data(text.utf8), contentType: "application/json") }
        #expect(shown(#"{"a":"b","token":"hunt"#) == #""{"a":"b","token":"<redacted>"…""#)
        #expect(shown(#"{"token":{"a":"hunter2","b":1},"c":[1,"hun"#) == #""{"token":"<redacted>","c":[1,…""#)
        #expect(shown(#"{"token":["hunter2","#) == #""{"token":"<redacted>"…""#)
        #expect(shown(#"{"a":"b","tok"#) == #""{"a":"b",…""#)
        #expect(shown(#"{"a":[true,fal"#) == #""{"a":[true,…""#)
        #expect(shown(#"{"a":1 "token":"hunter2"}"#) == "(application/json, 25 bytes, not shown)")
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

    @Test(
        "a user name is masked with its short password, and alone if the password is empty, because it may be an API key",
        arguments: [("me:abc12", "me:abc12 is wrong"), ("sk-4711081512:", "sk-4711081512 is wrong")])
    func users(user: String, text: String) throws {
        let field = "Basic \(Data(user.utf8).base64EncodedString())"
        let requests = [
            HTTPRequest(url: try url("http://h.test/"), headers: ["Authorization": field]),
            HTTPRequest(url: try url("http://\(user)@h.test/")),
        ]
        for request in requests { #expect(request.redactor.masked(text) == "<redacted> is wrong") }
    }

    @Test("a credential is masked without the spaces around it", arguments: ["Bearer  4711081512", "Bearer 4711081512 "])
    func spaces(field: String) throws {
        let request = HTTPRequest(url: try url("http://h.test/"), headers: ["Authorization": field])
        #expect(request.redactor.masked("got 4711081512.") == "got <redacted>.")
    }

    @Test(
        "a number that the request sent as a secret is masked in a string, and as a number or a string of JSON",
        arguments: [
            ("got 4711081512", "got <redacted>"), (#"{"a":4711081512}"#, #"{"a":"<redacted>"}"#),
            (#"[1,"no: 4711081512"]"#, #"[1,"no: <redacted>"]"#),
        ])
    func repeatedNumber(text: String, shown: String) throws {
        var request = HTTPRequest(.post, url: try url("http://h.test/"))
        request.body = HTTPBody(Data(#"{"token":4711081512}"#.utf8))
        #expect(request.redactor.redacted(text: text) == shown)
    }

    @Test("the values under a secret name are masked where a string repeats them, and the names among them are not")
    func namesInside() throws {
        var request = HTTPRequest(.post, url: try url("http://h.test/"))
        request.body = HTTPBody(Data(#"{"token":{"access":"hunter2"}}"#.utf8))
        #expect(request.redactor.masked("access for hunter2") == "access for <redacted>")
    }

    @Test("the first 64 KiB of a request's body are searched for secrets", arguments: [(65_517, true), (65_534, false)])
    func longRequestBody(padding: Int, isMasked: Bool) throws {
        // The secret ends with the 64 KiB, or starts after them.
        let body = "a=\(String(repeating: "x", count: padding))&token=4711081512"
        var request = HTTPRequest(.post, url: try url("http://h.test/"))
        request.body = HTTPBody(Data(body.utf8), contentType: "application/x-www-form-urlencoded")
        #expect(request.redactor.masked("got 4711081512") == (isMasked ? "got <redacted>" : "got 4711081512"))
    }

    @Test("a string about a body of up to 1 MiB is shown without the body's secrets, and a string about a longer body is not shown")
    func longResponseBody() {
        let object = #"{"token":"hunter2"}"#
        let longest = Data((object + String(repeating: " ", count: (1 << 20) - object.utf8.count)).utf8)
        #expect(Redactor().redacted(text: "got hunter2", about: longest, contentType: nil) == "got <redacted>")
        #expect(Redactor().redacted(text: "got hunter2", about: longest + [0x20], contentType: nil) == nil)
    }

    @Test("strings of JSON inside strings of JSON are shown up to the seventh, and the text inside the eighth is hidden")
    func depth() throws {
        func nested(_ text: String, _ count: Int) throws -> String {
            var text = text
            for _ in 0..<count { text = String(decoding: try JSONValue.string(text).encoded(), as: UTF8.self) }
            return text
        }
        let shown = try nested("Fluffles", 7)
        #expect(Redactor().redacted(text: shown) == shown)
        #expect(Redactor().redacted(body: Data(shown.utf8), contentType: nil) == shown)
        let deeper = try nested("Fluffles", 8), hidden = try nested("<redacted>", 8)
        #expect(Redactor().redacted(text: deeper) == hidden)
        // In a URL, the parameter that contains them counts as one level.
        func target(_ json: String) -> String { "/?a=\(PercentEncoding.encode(json))" }
        let parameter = target(try nested("Fluffles", 6))
        #expect(Redactor().redacted(urlText: parameter) == parameter)
        let deeperTarget = target(try nested("Fluffles", 7)), hiddenTarget = target(try nested("<redacted>", 7))
        #expect(Redactor().redacted(urlText: deeperTarget) == hiddenTarget)
    }

    @Test("JSON after white space or a byte order mark is shown without its secrets", arguments: [" ", "\n ", "\u{FEFF}"])
    func startOfJSON(start: String) {
        let shown = Redactor().redacted(text: start + #"{"a":"b","token":"hunter2"}"#)
        #expect(shown == start + #"{"a":"b","token":"<redacted>"}"#)
    }

    @Test(
        "text is searched even if it was encoded up to three times, and is hidden if it was encoded more often",
        arguments: [("to%25256Ben: x", false), ("100%252525", true), ("100%25252525", false)])
    func encodedText(text: String, isShown: Bool) {
        #expect(Redactor().redacted(text: text) == (isShown ? text : "<redacted>"))
    }

    @Test("a secret name and a sent secret beyond ASCII are recognized in text with escapes of JSON")
    func escapesBeyondASCII() throws {
        var names = SecretNames()
        names.insert(["cl\u{E9}"])
        #expect(Redactor(names).redacted(text: #"error: {"cl\u00e9":"hunter2"}"#) == "<redacted>")
        let request = HTTPRequest(url: try url("http://h.test/"), headers: ["X-Token": "p\u{E4}ssword"])
        #expect(request.redactor.redacted(text: #"no: p\u00e4ssword"#) == "<redacted>")
        var form = HTTPRequest(.post, url: request.url)
        form.body = HTTPBody(Data("token=p\u{1F511}ssword".utf8), contentType: "application/x-www-form-urlencoded")
        #expect(form.redactor.redacted(text: #"no: p\ud83d\udd11ssword"#) == "<redacted>")
    }

    @Test(
        "text whose secrets were redacted before is shown, unless more follows the mark",
        arguments: [
            ("token: <redacted>", true), ("GET http://h.test/?token=<redacted>&a=1 failed", true),
            (#"can't decode {\"token\":\"<redacted>\"}"#, true), ("token: <redacted>hunter2", false),
        ])
    func redactedBefore(text: String, isShown: Bool) {
        #expect(Redactor().redacted(text: text) == (isShown ? text : "<redacted>"))
    }

    @Test(
        "text that only resembles a user stays unchanged",
        arguments: [
            "/@scope/x", "https://h.test/@me", "http://h.test:80/a@b", "@me/x", "a/b:c@d", "/npm:react@18/x", "me@host/x",
            "http://@h.test/x",
        ])
    func noUser(text: String) {
        #expect(Redactor().redacted(urlText: text) == text)
        #expect(Redactor().redacted(text: "see \(text) and me@h") == "see \(text) and me@h")
    }

    @Test("a user without a password is hidden in a URL, even after a single slash, and in text")
    func userAlone() {
        #expect(Redactor().redacted(urlText: "http:/hunter2@h.test/x") == "http:/<redacted>@h.test/x")
        #expect(Redactor().redacted(text: "see http://u@h.test/x") == "<redacted>")
    }

    @Test("a secret with an empty line in a form with parts is masked where a string repeats it")
    func paragraphs() throws {
        var form = MultipartForm()
        form.append("\(Self.secret)\r\n\r\nend", named: "token")
        let request = HTTPRequest(.post, url: try url("http://h.test/"), body: try form.makeBody())
        #expect(request.redactor.masked("got \(Self.secret)\r\n\r\nend of it") == "got <redacted> of it")
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
