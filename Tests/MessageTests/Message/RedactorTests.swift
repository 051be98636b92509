import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// The one redactor: in whatever shape a secret comes, no description, log, command or recording shows it.
@Suite(.inTurn) struct RedactorTests {
    private static let secret = "hunter2"

    /// Texts of bodies and header fields.
    static let bodies = [
        // Twice under one key, and as a number, a list or an object.
        #"{"token":"hunter2","token":"x"}"#, #"{"token":"x","token":"hunter2"}"#, #"{"a":{"token":["hunter2",{"b":"}hunter2"}]},"c":1}"#,
        // Spaces, objects, and names in capitals.
        #"{ "token" : "hunter2" , "a":1}"#, "{\"token\"\n:\t\"hunter2\"}", #"{"password":{"value":"hunter2"}}"#, #"{"PASSWORD":"hunter2"}"#,
        // JSON in strings of JSON, as encoders escape it.
        #"{"body":"{\"password\":\"hunter2\",\"a\":1}"}"#, #"{"body":"{\u0022password\u0022:\u0022hunter2\u0022}"}"#,
        #"{"a":"{\"b\":\"{\\\"token\\\":\\\"x\\\\\\\"hunter2\\\"}\"}"}"#, #"{"q":"a=1&token=hunter2"}"#, #"{"u":"//me:hunter2@h.test/"}"#,
        // Names with escapes, whole and cut off.
        #"{"passw\u006frd":"hunter2"}"#, #"{"passw\u006frd":"hunter2"#, #"error: {"passw\u006frd":"hunter2""#,
        #"error: {\"passw\\u006frd\":\"x\\\"hunter2\"}"#, #"{"a":"b"c","token":"hunter2"}"#, #"{"a":1,}{"token":"hunter2"}"#,
        #"{"body":"{\"password\":\"hunter2"#,
        // Forms, with no type that says so.
        "password=hunter2", "\"password=hunter2\"", "a=1&user%5Bpassword%5D=hunter2", "password=my hunter2&b=1", "password=a;hunter2&c=1",
        "%70wd=hunter2",
        #"password=a"hunter2&b=1"#, "url=https%3A%2F%2Fh.test%2F%3Ftoken%3Dhunter2", "to\u{6B}en=hunter2",
        // Lines, and what is like JSON.
        "Authorization: Bearer hunter2\nHost: x", "a: 1\n  password: hunter2", "{'token': 'hunter2'}", "{token: hunter2}",
        "got X-Api-Key: hunter2", #"data: {"token":"hunter2"}"#, "<a><token>hunter2</token></a>",
        "<x:Password a='b'><c/>hunter2</x:Password>", "<token><token>a</token>hunter2</token>",
        // Ruby, PHP, GraphQL, calls and YAML.
        #"{"a"=>"b", "password"=>"hunter2"}"#, #"{:password=>"hunter2", :a=>1}"#, #"["token" => 'hunter2']"#, "password => hunter2",
        #"{"query":"mutation { login(password: \"hunter2\") { id } }"}"#, #"mutation { login(password: "hunter2", token: "hunter2") }"#,
        #"User(password: "hunter2")"#, "(token:'hunter2')", "- password: hunter2", "a:\n  - token: hunter2", "password: |\n  hunter2",
        #"{"query":"mutation($password:String=\"hunter2\"){a}"}"#,
        // URLs, also without a scheme.
        "see //user:hunter2@host/x", "see https://hunter2@host", "see http://u:#hunter2@h/ and //u:a?hunter2@h",
        #"http:\/\/user:hunter2@host"#, "go to https://h.test/?a=1&sig=hunter2#x",
    ]

    @Test("secrets in text of any format are hidden, for every declared type", arguments: bodies)
    func text(_ text: String) throws {
        for type in [nil, "text/plain", "application/json", "application/x-www-form-urlencoded"] {
            try expectNoSecret(body: Data(text.utf8), type: type)
        }
    }

    @Test(
        "users and passwords in URLs, with and without a scheme, of requests and in fields",
        arguments: [
            "//user:hunter2@host/x", "//hunter2@host", "user:hunter2@host/x", "http://user:hunter2@host/", "http:/user:hunter2@host/",
            "http://user:a@hunter2@host/", "http://user:hun/hunter2@host/", "http://u:#hunter2@h/", "http://user:a?hunter2@host/?x=1",
            " //u:hunter2@h",
            "\\\\u:hunter2@h\\x", "/x;jsessionid=hunter2?a=1", "/x?a=1?token=hunter2", "/x#access_token=hunter2", "/x?a=1;pwd=hunter2",
            "/x?token='a' hunter2", "/x?token=\"a\" hunter2",
            "?filter=%7B%22token%22%3A%22hunter2%22%7D", "?next=%2F%3Fto%256Ben%3Dhunter2",
        ])
    func url(text: String) throws {
        #expect(!Redactor().redacted(urlText: text).contains(Self.secret))
        for name in ["Location", "Content-Location", "Referer"] {
            #expect(!"\([name: text] as HTTPHeaders)".contains(Self.secret), "\(name)")
        }
        #expect(!"\(Ness().httpRequest(withUrl: text))".contains(Self.secret))
        let failure = #expect(throws: NessError.self) { _ = try Ness().httpRequest(withUrl: text + "\n").build() }
        #expect(!"\(try #require(failure))".contains(Self.secret))
    }

    @Test("a name that holds a whole field by mistake shows no secret in a log, a description or a command")
    func mistakenName() throws {
        for name in ["Authorization: Bearer hunter2", "X-Api-Key:hunter2", "Cookie: a=hunter2", "X-Token=hunter2"] {
            var request = HTTPRequest(url: try #require(URL(string: "https://h.test")))
            request.headers[name] = ""
            #expect(!"\(request.headers)".contains(Self.secret) && !request.curlCommand.contains(Self.secret), "\(name)")
            #expect(request.curlCommand(revealingSecrets: true).contains(Self.secret))
            #expect(!Redactor().redactedLine(HTTPHeaders.Field(name: name, value: "")).contains(Self.secret))
        }
    }

    @Test("a multipart body is never shown, for every declared type", arguments: ["multipart/form-data; boundary=b", "text/plain", nil])
    func parts(type: String?) throws {
        let text = "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter2\r\n--b--\r\n"
        try expectNoSecret(body: Data(text.utf8), type: type, isAlsoField: false)
    }

    @Test("the redacted URL of a request shows its ordinary parameters, and no secret")
    func redactedURL() throws {
        let request = HTTPRequest(url: try TestSupport.url("https://me:hunter2@h.test/x?token=hunter2&page=2"))
        #expect(request.redactedURL.hasSuffix("&page=2") && !request.redactedURL.contains(Self.secret))
    }

    @Test("a body that is not UTF-8 has no secret in a recording either")
    func latin() throws {
        try expectNoSecret(body: Data(#"{"a":""#.utf8) + [0xFF] + Data(#"","token":"hunter2"}"#.utf8), type: "application/json")
    }

    /// Has a body shown in every way there is, as that of a request and of a response.
    private func expectNoSecret(body: Data, type: String?, isAlsoField: Bool = true) throws {
        let fields = type.map { ["Content-Type": $0] as HTTPHeaders } ?? [:]
        let text = isAlsoField ? String(decoding: body, as: UTF8.self) : "x"
        var request = HTTPRequest(.post, url: try #require(URL(string: "http://h.test/")), headers: fields.merging(["X-Text": text]))
        request.body = HTTPBody(body)
        let response = HTTPResponse(statusCode: 400, headers: request.headers, body: body, request: request)
        let error = NessError(.validation, NessError.Context(request: request, response: response, reason: text))
        var shown = ["\(request.headers)", "\(response)", "\(error)", "\(error.context)", request.curlCommand]
        let log = Log<String>(), logger = RequestLogger(.full) { log.add($0) }
        logger.requestWillSend(request)
        logger.requestDidReceive(response, to: request)
        shown += log.entries
        for text in shown { #expect(!text.contains(Self.secret), "\(text)") }
    }

    @Test("a recording shows no secret of any shape", arguments: bodies)
    func recording(text: String) async throws {
        let recorder = RecordingTransport(
            wrapping: FakeTransport { _, receive in
                try await receive(.head(statusCode: 200, headers: ["Location": "//me:hunter2@h.test/", "X-Text": text]))
                try await receive(.body(Data(text.utf8)))
            })
        let request = Ness { $0.transport = recorder }.httpRequest(.post, withUrl: "http://h.test/").set(stringBody: text)
        _ = try await request.dataRequest().value
        let file = String(decoding: try recorder.archive.encoded(), as: UTF8.self)
        #expect(!file.contains(Self.secret) && !file.contains(Data(Self.secret.utf8).base64EncodedString()))
        #expect(recorder.archive.entries.count == 1)
    }

    // MARK: secrets that the request sent

    private static let key = "sk-abcDEF0123/+=="

    /// The ways in which a request sends the key.
    static let senders: [String: @Sendable (inout HTTPRequest) -> Void] = [
        "Bearer": { $0.headers["Authorization"] = "Bearer \(key)" },
        "no scheme": { $0.headers["Authorization"] = key },
        "Basic": { $0.headers["Authorization"] = "Basic \(Data("user:\(key)".utf8).base64EncodedString())" },
        "field": { $0.headers["X-Api-Key"] = key },
        "cookie": { $0.headers["Cookie"] = "a=1; id=\(key); b=2" },
        "quoted cookie": { $0.headers["Cookie"] = "id=\"\(key)\"" },
        "query": { $0.url = $0.url.appending(["token": key]) ?? $0.url },
        "user": { $0.url = URL(string: "http://me:\(PercentEncoding.encode(key))@h.test/") ?? $0.url },
        "form": { $0.body = .form(["password": key, "a": 1]) },
        "JSON": { $0.body = HTTPBody(Data(#"{"a":1,"b":[{"token":{"c":["\#(key)"]}}]}"#.utf8)) },
        "cut off JSON": { $0.body = HTTPBody(Data(#"{"token":"\#(key)","b":"\#(String(repeating: "x", count: 1 << 17))"}"#.utf8)) },
        "multipart": {
            var form = MultipartForm()
            form.append("shown", named: "name")
            form.append(key, named: "password")
            $0.body = try? form.makeBody()
        },
    ]

    @Test("a secret that the request sent is masked wherever a string repeats it", arguments: senders.keys.sorted())
    func repeated(sender: String) throws {
        var request = HTTPRequest(.post, url: try #require(URL(string: "http://h.test/")))
        let send = try #require(Self.senders[sender])
        send(&request)
        let escaped = "sk\\u002dabcDEF0123\\/+=="
        let bodies = [
            "Incorrect API key provided: \(Self.key).", #"{"message":"no: \#(Self.key)","ok":true}"#, #"{"message":"\#(escaped)"}"#,
            #"{"message":"{\"a\":\"\#(Self.key)\"}"#, "a=\(PercentEncoding.encode(Self.key))&b=2", "<b>\(Self.key)</b>",
            "[1] no: \(escaped)",
            String(repeating: " ", count: 4_090) + Self.key, String(repeating: " ", count: 4_220) + Self.key,
        ]
        for body in bodies {
            for type in ["text/plain", "application/json", "application/x-www-form-urlencoded"] {
                let response = HTTPResponse(
                    statusCode: 401, headers: ["Content-Type": type, "X-Text": body, "Location": "/?q=\(body)"], body: Data(body.utf8),
                    request: request)
                let error = NessError(.validation, NessError.Context(request: nil, response: response, reason: body))
                let log = Log<String>(), logger = RequestLogger(.full) { log.add($0) }
                logger.requestDidReceive(response, to: request)
                var second = request
                second.headers["X-Text"] = body
                for text in ["\(response)", "\(error)", "\(error.context)", second.curlCommand] + log.entries {
                    #expect(!text.contains("sk-abcDE") && !text.contains(escaped), "\(text)")
                }
            }
        }
        #expect(request.redactor.redacted(text: "a \(Self.key)") == "a <redacted>")
    }

    @Test("a credential that the request sent under any name is masked where a string repeats it, even without its scheme")
    func repeatedCredential() throws {
        for name in ["note", "token"] {
            // The last is `user:hunter2`.
            for (credential, parts) in [
                ("Bearer abcdef123", ["abcdef123"]), ("Bearer  abcdef123", ["abcdef123"]),
                ("Basic dXNlcjpodW50ZXIy", ["dXNlcjpodW50ZXIy", "hunter2"]),
            ] {
                let query = credential.replacingOccurrences(of: " ", with: "%20")
                let request = HTTPRequest(url: try TestSupport.url("http://h.test/?\(name)=\(query)"))
                for part in parts {
                    #expect(!"\(request)".contains(part))
                    #expect(request.redactor.redacted(text: "\(part) has expired") == "<redacted> has expired")
                }
            }
        }
    }

    @Test("the error of a 401 that repeats the credential shows the message without it", arguments: [false, true])
    func unauthorized(isJSON: Bool) async throws {
        let rig = Rig { $0.authentication = BearerAuthentication(token: Self.key) }
        let text = "Incorrect API key provided: \(Self.key)"
        let body = isJSON ? #"{"error":{"message":"\#(text)"}}"# : text
        rig.mock.on(.get, "/x") { _ in .text(body, status: 401) }
        rig.mock.on(.get, "/lost", replies: [.failure(TransportError(.connectionLost, "lost with \(Self.key)"))])
        let error = try #require(await rig.ness.get("x").validate(statusCode: 200).dataRequest().nessError())
        #expect("\(error)".contains("Incorrect API key provided: <redacted>") && !"\(error) \(error.context)".contains(Self.key))
        let lost = try #require(await rig.ness.get("lost").dataRequest().nessError())
        #expect("\(lost)".contains("lost with <redacted>") && !"\(lost.context)".contains(Self.key))
    }

    @Test("after a redirect to another origin, the credential of the first request is still masked")
    func redirected() async throws {
        let rig = Rig()
        rig.mock.on(.get, "/x") { _ in .status(302, headers: ["Location": "https://other.test/y"]) }
        rig.mock.on(.get, "https://other.test/y") { _ in .text("got \(Self.key)") }
        let response = try await rig.ness.get("x").set(headers: ["Authorization": "Bearer \(Self.key)"]).response()
        #expect("\(response)".hasSuffix(#"200 "got <redacted>""#))
    }

    @Test("a recording masks a secret that the response repeats, in text and in bytes")
    func recordedRepetition() async throws {
        for body in [Data("got \(Self.key)".utf8), Data(#"{"a":"\#(Self.key)"}"#.utf8), Data("\0\(Self.key)".utf8)] {
            let recorder = RecordingTransport(
                wrapping: FakeTransport { _, receive in
                    try await receive(.head(statusCode: 200, headers: ["X-Text": Self.key]))
                    try await receive(.body(body))
                })
            let ness = Ness { $0.transport = recorder }
            _ = try await ness.httpRequest(withUrl: "http://h.test/").set(headers: ["X-Api-Key": Self.key]).dataRequest().value
            let file = String(decoding: try recorder.archive.encoded(), as: UTF8.self)
            #expect(!file.contains(Self.key) && !file.contains(body.base64EncodedString()))
        }
    }

    @Test("a short value, such as a cookie's 1, is not masked, because it occurs in other words")
    func short() throws {
        let request = HTTPRequest(url: try #require(URL(string: "http://h.test/?token=abc12")), headers: ["Cookie": "a=1; b=yes; c="])
        let text = "yes, abc12 has 1 letter a"
        #expect(request.redactor.redacted(text: text) == text)
    }

    // MARK: texts of other kinds

    @Test(
        "a body of another content type with a secret name is not shown, only its type and length",
        arguments: [
            ("<p>Your password is hunter2</p>", "text/html; charset=utf-8", "(text/html, 31 bytes, not shown)"),
            ("token hunter2", nil, "(13 bytes, not shown)"), ("user,pass%77ord\nme,hunter2", "text/csv", "(text/csv, 26 bytes, not shown)"),
            ("- pin: hunter2", "application/yaml", #""- pin: hunter2""#), ("<p>no</p>", "text/html", #""<p>no</p>""#),
        ])
    func otherKinds(text: String, type: String?, shown: String) throws {
        var names = SecretNames()
        if !shown.contains("pin") { names.insert(["pin"]) }
        names.remove(shown.contains("pin") ? ["pin"] : [])
        #expect(Redactor(names).snippet(of: Data(text.utf8), contentType: type) == shown)
    }

    @Test("an error message in JSON that mentions a secret name is shown; one with a value is not")
    func messages() {
        let text = #"{"error":"invalid_token","message":"The password or the session is wrong.","hint":"token: hunter2"}"#
        #expect(Redactor().redacted(text: text) == text.replacing("token: hunter2", with: "<redacted>"))
    }

    @Test("only the value of a secret name in JSON is replaced: the white space around it is kept")
    func whiteSpace() {
        let text = "{\n  \"token\" : \"hunter2\" ,\n  \"a\" : [ 1 ]\n}"
        #expect(Redactor().redacted(text: text) == text.replacing("hunter2", with: "<redacted>"))
    }

    @Test("the default headers of a configuration hide the fields that it names, in any order of setters")
    func configuration() {
        let first = Ness {
            $0.secretNames = ["X-Patient"]
            $0.defaultHeaders = ["X-Patient": "hunter2", "X-Auth": "shown"]
            $0.publicNames = ["X-Auth"]
        }
        let second = Ness {
            $0.defaultHeaders = ["X-Patient": "hunter2", "X-Auth": "shown"]
            ($0.publicNames, $0.secretNames) = (["X-Auth"], ["X-Patient"])
        }
        for ness in [first, second] {
            #expect("\(ness.configuration.defaultHeaders)" == "[X-Patient: <redacted>, X-Auth: shown]")
        }
    }

    // MARK: errors and values

    private struct Choice: Decodable {
        enum Token: String, Decodable { case a }
        let token: Token
    }

    private struct Repeating: ResponseDecoder {
        struct Failure: Error, CustomStringConvertible { let description: String }
        func decode(from data: Data) throws -> Int {
            throw Failure(description: "can't use hunter2 of \(String(decoding: data, as: UTF8.self))")
        }
    }

    @Test("a decoding error that repeats a value does not show it, and shows no reason if the body is long or in an unknown format")
    func decoding() throws {
        let request = HTTPRequest(url: try #require(URL(string: "http://h.test/")))
        let object = #"{"token":"hunter2"}"#
        for body in [object, object + String(repeating: " ", count: 1 << 20), "<token>hunter2</token>"] {
            let response = HTTPResponse(statusCode: 200, body: Data(body.utf8), request: request)
            for decode in [{ _ = try response.parseJSONBody(Choice.self) }, { _ = try response.parseBody(using: Repeating()) }]
                as [() throws -> Void]
            {
                let error = try #require(#expect(throws: NessError.self) { try decode() })
                #expect(error.kind == .decoding && !"\(error) \(error.context) \(error.context.reason)".contains(Self.secret))
                #expect("\(error)".contains("can't decode"))
                #expect(error.context.reason.contains("for a reason that is not shown") == (body != object))
            }
        }
    }

    @Test("builders, parameters, environments, configurations, managers, bodies and forms show no secret in any way of printing")
    func values() throws {
        let headers: HTTPHeaders = ["Authorization": "Bearer hunter2", "X-Api-Key": "hunter2", "X-Plain": "shown"]
        var configuration: Ness.Configuration?
        let ness = Ness {
            $0.baseURL = URL(string: "https://me:hunter2@h.test/v1")
            ($0.defaultHeaders, $0.secretNames) = (headers.merging(["X-Own": "hunter2"]), ["X-Own", "pin"])
            $0.authentication = RefreshableAuthentication(credential: "hunter2", apply: { ["X-A": $0] }, refresh: { old, _ in old })
            configuration = $0
        }
        let query: URLQuery = ["token": "hunter2", "key": "hunter2", "user": ["password": "hunter2"], "page": 1]
        var form = MultipartForm()
        form.append("hunter2", named: "password")
        let builder = ness.httpRequest(.post, withUrl: "x?sig=hunter2").set(urlParameters: query).set(headers: headers)
            .add(urlParameterValue: "hunter2", forKey: "pin").set(form: ["password": "hunter2"])
        let environment = ness.environment
        let typed = TypedRequest<Int>(.post, "x?token=hunter2", query: ["sig": "hunter2"])
        let values: [Any] = [
            builder, query, query.items, environment, try #require(configuration), ness, form, try form.makeBody(),
            HTTPBody(Data("token=hunter2".utf8)), HTTPBody.form(["token": "hunter2"]), ness.defaults, typed,
        ]
        for value in values { expectHidden(Self.secret, in: value) }
        #expect("\(builder)".hasPrefix("POST x?sig=<redacted>&token=<redacted>") && "\(builder)".contains("page=1"))
        #expect("\(query)" == "token=<redacted>&key=<redacted>&user%5Bpassword%5D=<redacted>&page=1")
        #expect("\(environment)".hasPrefix("https://<redacted>@h.test/v1 [") && "\(environment)".contains("X-Plain: shown"))
        #expect("\(form)" == "multipart/form-data of 1 part" && "\(HTTPBody(Data(count: 3), headers: ["A": "b"]))" == "3 bytes [A: b]")
    }

    @Test(
        "text without secrets is shown unchanged",
        arguments: [
            #"{"name":"Fluffles","tokens_used":5,"max_tokens":7,"list":[1,2],"text":"a \"b\" = c; d: e"}"#, "a=1&b=%20c&d",
            "plain text: 5 = 5",
            "GET /x HTTP/1.1\r\nHost: h", "<a><b c='d'>e</b></a>", "https://h.test/a;b=c?d=e#f", #"W/"abc", "d:e=f""#, "\\\\ \\\" '",
            "can't decode Session, not a Int at token",
        ])
    func untouched(text: String) { #expect(Redactor().redacted(text: text) == text) }

    @Test("hostile text is read in linear time")
    func linear() throws {
        let pieces = [
            "\\", "<token", "<token a=/>", "%41/", "//", #"{"a":"#, "\"", "token:'", #""token":["#, ";", ";a", "\\u005c", "%25", "a:",
            "/\\", "//u:x", "/@", "//u:@", "{\"b\":\"/", "a=\"", "aaaaaaaa", "aaaaaab", "[", "a.", "&", "pin ",
            #""pwd":\""#, "pwd='", "a\"", "token=",
        ]
        var request = HTTPRequest(url: try #require(URL(string: "http://h.test/")))
        request.headers["Authorization"] = "Bearer " + String(repeating: "a", count: 4_096) + "b"
        let redactor = request.redactor
        for piece in pieces {
            let text = String(repeating: piece, count: (1 << 13) / piece.utf8.count)
            // A step for each pair of bytes would be 60 million.
            #expect(!redactor.redacted(text: text).isEmpty && !redactor.redacted(urlText: text).isEmpty)
        }
    }

    @Test(
        "a body with parts may have any form, and its secret fields are masked beside a file, and under gzip",
        arguments: ["\r\n\r\n", "--b\r\n--\r\n\r\n\r\n--b--\r\n", "\r\n--\r\n\r\n"])
    func parts(_ content: String) throws {
        let odd = HTTPRequest(
            .post, url: try #require(URL(string: "http://a.test/")),
            body: HTTPBody(Data(content.utf8), contentType: "multipart/form-data; boundary=b")
        )
        #expect(Redactor(sentBy: [odd]).masked("text") == "text")
        var form = MultipartForm()
        form.append("regards\r\n--\r\n\r\n", named: "note")
        form.append("hunter2", named: "token")
        form.append(file: URL(filePath: "/etc/hostname"), named: "file")
        let json = try HTTPBody.json(["password": "hunter2"])
        for body in [try form.makeBody(), try json.gzipped(), try form.makeBody().gzipped()] {
            let request = HTTPRequest(.post, url: try #require(URL(string: "http://a.test/")), body: body)
            #expect(Redactor(sentBy: [request]).masked("for hunter2") == "for <redacted>")
        }
    }

    @Test("of many secret values that start alike, a string shows none, nor what follows one")
    func alike() {
        var values = SecretValues()
        for number in 0..<100 { values.insert("aaaaaa\(number)") }
        #expect(values.masked("see aaaaaa7, and bbbbbb") == "see <redacted>")
    }
}
