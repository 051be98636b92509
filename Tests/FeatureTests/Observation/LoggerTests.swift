import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct LoggerTests {
    private func rig(_ style: RequestLogger.Style, _ log: Log<String>) -> Rig {
        Rig {
            $0.observers = [RequestLogger(style) { log.add($0) }]
            $0.secretNames = ["X-Key", "pin"]
        }
    }

    @Test("the log has one line for each retry and one for the end of a request, without secrets")
    func line() async throws {
        let log = Log<String>()
        let rig = rig(.line, log)
        rig.mock.on(.get, "/x", replies: [.status(503), .text("hello").delayed(by: .milliseconds(1_250)), .status(404)])
        let builder = rig.ness.httpRequest(withUrl: "x?token=abc&q=1").validate(statusCode: 200)
        _ = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        _ = await builder.dataRequest().nessError()
        #expect(
            log.entries == [
                "GET https://mock.test/x?token=<redacted>&q=1 \u{2192} 503 (no body): validation failed: status 503, expected 200;"
                    + " attempt 2 follows after 0.000 s",
                "GET https://mock.test/x?token=<redacted>&q=1 \u{2192} 200 (2 attempts, 1.250 s, 0 bytes sent, 5 received)",
                "GET https://mock.test/x?token=<redacted>&q=1 \u{2192} 404 (no body): validation failed: status 404, expected 200"
                    + " (1 attempt, 0.000 s, 0 bytes sent, 0 received)",
            ])
    }

    @Test("each entry has a level, and entries below the lowest level are left out", arguments: RequestLogger.Level.allCases)
    func levels(_ lowest: RequestLogger.Level) async throws {
        let log = Log<RequestLogger.Level>()
        let rig = Rig { $0.observers = [RequestLogger(.full, from: lowest) { level, _ in log.add(level) }] }
        rig.mock.on(.get, "/x", replies: [.status(503), .status(200), .status(404)])
        let builder = rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200)
        _ = try await builder.dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        _ = await builder.dataRequest().nessError()
        let gate = TestGate()
        rig.mock.on(.get, "/dropped") { _ in
            await gate.wait()
            return .status(200)
        }
        let promise = rig.ness.httpRequest(withUrl: "dropped").dataRequest()
        promise.drop()
        _ = await promise.settled
        gate.open()
        let all: [RequestLogger.Level] = [.debug, .debug, .warning, .debug, .debug, .info, .debug, .debug, .error]
        let expected = all.filter { $0.rawValue >= lowest.rawValue }
        #expect(log.entries.prefix(expected.count) == expected[...])
        #expect(log.entries.dropFirst(expected.count).allSatisfy { $0 == .debug || $0 == .info })
    }

    @Test(
        "a log closure gets the request of each entry, with the options that the caller set",
        arguments: [RequestLogger.Style.line, .full, .curl])
    func request(_ style: RequestLogger.Style) async throws {
        enum Trace: RequestOptionKey { static let defaultValue = "none" }
        let log = Log<String>()
        let rig = Rig {
            $0.observers = [RequestLogger(style) { level, text, request in log.add("\(level) \(request[Trace.self]) \(request.url.path)") }]
        }
        rig.mock.on(.get, "/x", replies: [.status(503), .status(200)])
        let builder = rig.ness.httpRequest(withUrl: "x").validate(statusCode: 200)
        for trace in ["a", "b"] {
            _ = try await builder.set(option: Trace.self, to: trace).dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        }
        #expect(log.entries.contains("warning a /x") && log.entries.contains("info a /x") && log.entries.last == "info b /x")
        #expect(log.entries.allSatisfy { !$0.contains("none") })
    }

    @Test("the full log shows a body up to the configured length", arguments: [(0, "5 bytes"), (3, "hel\u{2026}"), (5, "hello")])
    func bodyLimit(_ limit: Int, _ shown: String) async throws {
        let log = Log<String>()
        let rig = Rig { $0.observers = [RequestLogger(.full, bodyLimit: limit) { log.add($0) }] }
        rig.mock.on(.get, "/x", replies: [.text("hello")])
        _ = try await rig.ness.httpRequest(withUrl: "x").dataRequest().value
        #expect(log.entries[1].hasSuffix(limit == 0 ? "\n\n(\(shown))" : "\n\n\(shown)"))
    }

    @Test("an error of another type is named by its type, and its content is not shown")
    func foreign() async {
        struct Leaky: Error, CustomStringConvertible { var description: String { "hunter2" } }
        let log = Log<String>()
        let rig = Rig {
            $0.observers = [RequestLogger(.full) { log.add($0) }]
            $0.loaders = [.loader { _, _ in throw Leaky() }]
        }
        _ = try? await rig.ness.httpRequest(withUrl: "x").dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        #expect(log.entries.count == 4)
        #expect(log.entries[1] == "GET https://mock.test/x: Leaky; attempt 2 follows after 0.000 s")
        #expect(log.entries.last == "GET https://mock.test/x: Leaky (0 attempts, 0.000 s, 0 bytes sent, 0 received)")
        #expect(!log.entries.joined().contains("hunter2"))
    }

    @Test(
        "the full log has every attempt and response without secrets, the start of long text, and only the size of other bodies")
    func full() async throws {
        let log = Log<String>()
        let rig = rig(.full, log)
        rig.mock.on(.post, "/x") { _ in
            .text(#"{"access_token":"s1","ok":"\u001b[1m"}"#, headers: ["Set-Cookie": "a=s2", "Location": "/y?code=s3&z=1"])
        }
        _ = try await rig.ness.httpRequest(.post, withUrl: "x").set(headers: ["X-Key": "s4", "A": "1"])
            .set(form: ["pin": "s5", "name": "b"]).dataRequest().value
        let lines = log.entries.joined(separator: "\n").components(separatedBy: "\n")
        #expect(lines.first == "POST https://mock.test/x")
        for line in [
            "X-Key: <redacted>", "A: 1", "Content-Type: application/x-www-form-urlencoded", "pin=<redacted>&name=b",
            "POST https://mock.test/x \u{2192} 200", "Set-Cookie: <redacted>", "Location: /y?code=<redacted>&z=1",
        ] { #expect(lines.contains(line), "\(line)") }
        #expect(log.entries.count == 3)
        let text = log.entries.joined()
        for secret in ["s1", "s2", "s3", "s4", "s5", "\u{1B}"] { #expect(!text.contains(secret), "\(secret)") }
        rig.mock.on(.get, "/raw", replies: [.data(Data([0xFF, 0, 1])), .text(String(repeating: "a", count: 5_000))])
        _ = try await rig.ness.httpRequest(withUrl: "raw").dataRequest().value
        #expect(log.entries[4].hasSuffix("\n\n(3 bytes)"))
        _ = try await rig.ness.httpRequest(withUrl: "raw").dataRequest().value
        #expect(log.entries[7].count { $0 == "a" } < 4_200 && log.entries[7].hasSuffix("a\u{2026}"))
    }

    @Test("the log can show every attempt as a curl command")
    func curl() async throws {
        let log = Log<String>()
        let rig = rig(.curl, log)
        rig.mock.on(.post, "/x", replies: [.status(503), .status(200)])
        _ = try await rig.ness.httpRequest(.post, withUrl: "x?q=it's").set(headers: ["X-Key": "s"])
            .set(jsonBody: ["pin": 1, "a": "b"]).dataRequest(with: CounterRetryControl(maxRetryCount: 1)).value
        let command =
            #"curl --globoff --request 'POST' --url 'https://mock.test/x?q=it'\''s' --header 'X-Key: <redacted>'"#
            + #" --header 'Content-Type: application/json' --data-raw '{"a":"b","pin":"<redacted>"}'"#
        #expect(log.entries.count == 4)
        #expect(log.entries[0] == command && log.entries[2] == command)
    }

    @Test(
        "every part of a request is one word for the shell, on one line, and never a file for curl",
        arguments: [
            ("", "''"), ("a b", "'a b'"), ("$(rm -rf /)`x`", "'$(rm -rf /)`x`'"), ("'; rm -rf /; '", #"\''; rm -rf /; '\'"#),
            ("@/etc/hosts", "'@/etc/hosts'"), (#"{"a":"b\"c\/d\n"}"#, #"'{"a":"b\"c\/d\n"}'"#), ("!!%s", "'!!%s'"),
            (#"a\\b\'c\"#, #"'a'\\'\b'\\\''c'\\"#),
            ("a\nb\t'\"!\\\u{1B}7%s", #""$(printf %b 'a\nb\t\0047\0042\0041\0134\00337%s')""#),
            ("é\u{85}\u{2028}", #""$(printf %b 'é\0302\0205\0342\0200\0250')""#),
            // Each of these belongs to the apostrophe's Character.
            ("a'\u{301};x", "'a'\\''\u{301};x'"), ("'\u{FE0F};x", #""$(printf %b '\0047\0357\0270\0217;x')""#),
            ("'\u{200D};x", #""$(printf %b '\0047\0342\0200\0215;x')""#),
            ("'\u{1F3FD};x", "\\''\u{1F3FD};x'"), ("\u{1B}'\u{301}\\\u{301}", "\"$(printf %b '\\0033\\0047\u{301}\\0134\u{301}')\""),
            ("a\u{202E}b\u{2066}", #""$(printf %b 'a\0342\0200\0256b\0342\0201\0246')""#),
        ]) func quoting(text: String, quoted: String) throws
    {
        var request = HTTPRequest(.post, url: try url("https://mock.test/"))
        request.body = HTTPBody(Data(text.utf8), headers: ["Content-Type": "text/plain"])
        #expect(
            request.curlCommand
                == "curl --globoff --request 'POST' --url 'https://mock.test/' --header 'Content-Type: text/plain' --data-raw \(quoted)")
    }

    @Test("a body that ends with a line break is piped to curl, and a field loses it")
    func lineBreak() throws {
        var request = HTTPRequest(.post, url: try url("https://mock.test/"), headers: ["A": "", "B": "b\n"])
        request.body = HTTPBody(Data("a'\n\n".utf8), headers: ["Content-Type": "text/plain"])
        #expect(
            request.curlCommand
                == #"printf %b 'a\0047\n\n' | curl --globoff --request 'POST' --url 'https://mock.test/' --header 'A;'"#
                + #" --header "$(printf %b 'B: b\n')" --header 'Content-Type: text/plain' --data-binary @-"#)
    }

    @Test("the command shows its secrets on demand only")
    func revealed() throws {
        var request = HTTPRequest(.post, url: try url("https://a:b@mock.test/?token=t"), headers: ["Authorization": "Bearer c"])
        request.body = HTTPBody(Data(#"{"password":"p"}"#.utf8), headers: ["Content-Type": "application/json"])
        #expect(request.curlCommand(revealingSecrets: false) == request.curlCommand)
        #expect(
            request.curlCommand(revealingSecrets: true)
                == "curl --globoff --request 'POST' --url 'https://a:b@mock.test/?token=t' --header 'Authorization: Bearer c'"
                + #" --header 'Content-Type: application/json' --data-raw '{"password":"p"}'"#)
        for data in [Data([0xFF]), Data([65, 0])] {
            request.body = HTTPBody(data)
            #expect(request.curlCommand(revealingSecrets: true).hasSuffix(" --data-binary @-"))
        }
    }

    @Test("the command leaves out bodies that are not text, are long, or have several parts")
    func binary() throws {
        for (data, type) in [
            (Data([0xFF]), "image/png"), (Data([65, 0]), "text/plain"), (Data(count: 1 << 17), "text/plain"),
            (Data("--b\r\npassword".utf8), "multipart/form-data; boundary=b"),
        ] {
            var request = HTTPRequest(.put, url: try url("https://mock.test/"))
            request.body = HTTPBody(data, headers: ["Content-Type": type])
            #expect(request.curlCommand.hasSuffix(" --data-binary @-"))
        }
        #expect(
            HTTPRequest(.head, url: try url("https://a:b@mock.test")).curlCommand
                == "curl --globoff --head --url 'https://<redacted>@mock.test'")
        var evil = HTTPRequest(.get, url: try url("https://mock.test"), headers: ["@/etc/passwd": "x", "\0@/etc/passwd": "x"])
        #expect(!evil.curlCommand.contains("passwd"))
        #expect(HTTPRequest(url: URL(fileURLWithPath: "/etc/passwd")).curlCommand.contains("--proto =http,https"))
        evil.body = HTTPBody(Data("x".utf8))
        #expect(evil.curlCommand.contains("--request 'GET'") && evil.curlCommand.contains("--header 'Content-Type:'"))
    }
}
