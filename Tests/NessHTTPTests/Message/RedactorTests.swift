import Foundation
import NessTesting
import Testing

@testable import NessHTTP

/// The one redactor: in whatever shape a secret comes, no description, log, command or recording shows it.
@Suite(.inTurn) struct RedactorTests {
    private static let secret = "hunter2"

    /// Texts of bodies and header fields.
    static let bodies = [
        // Twice under one key, and as a number, a list or an object.
        #"{"token":"hunter2","token":"x"}"#, #"{"token":"x","token":"hunter2"}"#, #"{"a":{"token":["hunter2",{"b":"}hunter2"}]},"c":1}"#,
        // JSON in strings of JSON, as encoders escape it.
        #"{"body":"{\"password\":\"hunter2\",\"a\":1}"}"#, #"{"body":"{\u0022password\u0022:\u0022hunter2\u0022}"}"#,
        #"{"a":"{\"b\":\"{\\\"token\\\":\\\"x\\\\\\\"hunter2\\\"}\"}"}"#, #"{"q":"a=1&token=hunter2"}"#, #"{"u":"//me:hunter2@h.test/"}"#,
        // Names with escapes, whole and cut off.
        #"{"passw\u006frd":"hunter2"}"#, #"{"passw\u006frd":"hunter2"#, #"error: {"passw\u006frd":"hunter2""#,
        #"error: {\"passw\\u006frd\":\"x\\\"hunter2\"}"#, #"{"a":"b"c","token":"hunter2"}"#, #"{"a":1,}{"token":"hunter2"}"#,
        #"{"body":"{\"password\":\"hunter2"#,
        // Forms, with no type that says so.
        "password=hunter2", "a=1&user%5Bpassword%5D=hunter2", "password=my hunter2&b=1", "password=a;hunter2&c=1", "%70wd=hunter2",
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
        #expect(!SecretNames().redacted(urlText: text).contains(Self.secret))
        for name in ["Location", "Content-Location", "Referer"] {
            #expect(!"\([name: text] as HTTPHeaders)".contains(Self.secret), "\(name)")
        }
        #expect(!"\(Ness().httpRequest(withUrl: text))".contains(Self.secret))
        let failure = #expect(throws: NessError.self) { _ = try Ness().httpRequest(withUrl: text + "\n").build() }
        #expect(!"\(try #require(failure))".contains(Self.secret))
    }

    @Test(
        "text that only resembles a user stays unchanged",
        arguments: ["/@scope/x", "https://h.test/@me", "http://h.test:80/a@b", "@me/x", "a/b:c@d"])
    func noUser(text: String) {
        #expect(SecretNames().redacted(urlText: text) == text)
        #expect(SecretNames().redacted(text: "see \(text) and me@h") == "see \(text) and me@h")
    }

    @Test("a word is searched once, however many slashes it has", arguments: ["/", "//u:x", "/@", "//u:@", "/\\", "{\"b\":\"/"])
    func longWord(piece: String) {
        let text = String(repeating: piece, count: 1_000)
        var redactor = TextRedactor(SecretNames())
        _ = redactor.redacted(text)
        // JSON is searched in two passes.
        #expect(redactor.searchedCount > 0 && redactor.searchedCount <= 2 * text.utf8.count)
    }

    @Test("a name that holds a whole field by mistake shows no secret in a log, a description or a command")
    func mistakenName() throws {
        for name in ["Authorization: Bearer hunter2", "X-Api-Key:hunter2", "Cookie: a=hunter2", "X-Token=hunter2"] {
            var request = HTTPRequest(url: try #require(URL(string: "https://h.test")))
            request.headers[name] = ""
            #expect(!"\(request.headers)".contains(Self.secret) && !request.curlCommand.contains(Self.secret), "\(name)")
            #expect(request.curlCommand(revealingSecrets: true).contains(Self.secret))
            #expect(!SecretNames().redactedLine(HTTPHeaders.Field(name: name, value: "")).contains(Self.secret))
        }
    }

    @Test("a multipart body is never shown, for every declared type", arguments: ["multipart/form-data; boundary=b", "text/plain", nil])
    func parts(type: String?) throws {
        let text = "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter2\r\n--b--\r\n"
        try expectNoSecret(body: Data(text.utf8), type: type, isAlsoField: false)
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
        let error = NessError.validation(NessError.Context(request: request, response: response, reason: text))
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

    @Test("a decoding error that repeats a value does not show it")
    func decoding() throws {
        let request = HTTPRequest(url: try #require(URL(string: "http://h.test/")))
        let response = HTTPResponse(statusCode: 200, body: Data(#"{"token":"hunter2"}"#.utf8), request: request)
        for decode in [{ _ = try response.parseJSONBody(Choice.self) }, { _ = try response.parseBody(using: Repeating()) }]
            as [() throws -> Void]
        {
            let error = try #require(#expect(throws: NessError.self) { try decode() })
            #expect(error.kind == .decoding && !"\(error) \(error.context) \(error.context.reason)".contains(Self.secret))
            #expect("\(error)".contains("token") || "\(error)".contains("can't use <redacted>"))
        }
    }

    /// Every text that the usual ways of printing make of a value.
    private func texts(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return [dumped, String(describing: value), String(reflecting: value), "\([value])"].joined(separator: "\n")
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
        for value in values { #expect(!texts(value).contains(Self.secret), "\(type(of: value))") }
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
            "can't decode Session: not a Int at token",
        ])
    func untouched(text: String) { #expect(SecretNames().redacted(text: text) == text) }

    @Test("hostile text is read in linear time")
    func linear() {
        let pieces = [
            "\\", "<token", "<token a=/>", "%41/", "//", #"{"a":"#, "\"", "token:'", #""token":["#, ";", ";a", "\\u005c", "%25", "a:",
            "/\\",
            #""pwd":\""#, "pwd='", "a\"", "token=",
        ]
        for piece in pieces {
            let text = String(repeating: piece, count: (1 << 14) / piece.utf8.count)
            // A step for each pair of bytes would be 100 million.
            #expect(!SecretNames().redacted(text: text).isEmpty)
        }
    }
}
