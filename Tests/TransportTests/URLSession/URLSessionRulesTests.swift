import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The rules of `URLSessionTransport` that need no server, so that those for Apple platforms are checked on Linux, too.
@Suite(.inTurn) struct URLSessionRulesTests {
    @Test(
        "the pipeline handles an origin's HTTP authentication, the host's rules its certificates, the system proxies",
        arguments: [false, true])
    func challenges(usesSystemCredentials: Bool) async throws {
        let system = FakeSystem(), hosts = usesSystemCredentials ? ["example.com"] : []
        let transport = URLSessionTransport({ _ in }, { _, _ in }, hosts, onServerTrust: nil, source: system.source())
        let received = Received(transport, HTTPRequest(url: try url("https://example.com/"))), task = await system.task()
        let ofSystem = usesSystemCredentials ? "systemDefault" : "reject"
        let expected = [
            ("HTTPBasic", "reject"), ("HTTPDigest", "reject"), ("NTLM", ofSystem), ("Negotiate", ofSystem),
            ("ClientCertificate", "systemDefault"), ("ServerTrust", "use(nil)"), ("Default", "systemDefault"),
            ("HTMLForm", "systemDefault"),
        ]
        for (name, answer) in expected {
            var challenge = SessionChallenge(method: "NSURLAuthenticationMethod\(name)")
            challenge.decide = { .use(nil) }
            #expect(await task.challenge(challenge) == answer)
            challenge.isFromProxy = true
            #expect(await task.challenge(challenge) == "systemDefault")
        }
        #expect(NSURLAuthenticationMethodHTTPBasic == "NSURLAuthenticationMethodHTTPBasic")
        try task.head(200)
        task.complete()
        #expect(await received.error() == nil)
    }

    @Test("a response of a pinned host is rejected if URLSession has not requested a check of the host's certificate")
    func uncheckedCertificate() async throws {
        let certificates = try Certificates(pem: Data(FixedCertificate.pem.utf8))
        let expected: [(TLSDemands, TLSFailure?)] = [
            (TLSDemands(), nil), (TLSDemands(identity: ClientIdentity(pkcs12: Data(), password: "")), nil),
            (TLSDemands(publicKeys: ["key"]), .pinMismatch), (TLSDemands(authorities: certificates), .untrusted),
        ]
        for (demands, failure) in expected {
            let refusal = demands.refusal(hasChecked: false)
            #expect(refusal?.tlsFailure == failure && refusal?.kind == (failure == nil ? nil : .tls))
            #expect(demands.refusal(hasChecked: true) == nil)
            guard let refusal else { continue }
            // The request was sent over the resumed session.
            let rig = Rig()
            rig.mock.on(.post, "/x", replies: [.failure(refusal)])
            let error = await rig.ness.httpRequest(.post, withUrl: "x").dataRequest().nessError()
            #expect(error?.tlsFailure == failure && error?.mayHaveReachedServer == true)
        }
    }

    @Test("interim responses are events before the head, at most 1,000 of them")
    func interim() async throws {
        let system = FakeSystem(), transport = system.transport(), request = HTTPRequest(url: try url("https://example.com/"))
        let two = Received(transport, request), task = await system.task()
        for _ in 0..<2 { try task.interim(103) }
        try task.head(200)
        task.complete()
        #expect(await two.error() == nil && two.events.entries == ["interim 103", "interim 103", "head 200"])
        let endless = Received(transport, request), other = await system.task(1)
        for _ in 0...HeadChoice.maximumInterimCount { try other.interim(103) }
        #expect(await endless.transportError()?.kind == .malformedResponse)
    }

    @Test("a request waits for a network that it does not exclude, even where only the URLSession excludes one")
    func networks() throws {
        var request = HTTPRequest(url: try url("https://example.com/"))
        #expect(NetworkTraits(refusedBy: request) == [])
        for (reason, trait) in [NetworkTraits.cellular, .expensive, .constrained].enumerated() {
            #expect(NetworkTraits(refusedBy: request, reason: reason) == trait)
        }
        #expect(NetworkTraits(refusedBy: request, reason: 9) == [])
        request.settings.excludedNetworks.insert(.cellular)
        #expect(NetworkTraits(refusedBy: request, reason: 1) == [.cellular, .expensive])
        request.settings.excludedNetworks.insert(.expensive)
        request.settings.excludedNetworks.insert(.constrained)
        #expect(NetworkTraits(refusedBy: request) == [.cellular, .expensive, .constrained])
    }

    @Test("the writer of a body's stream is closed when the task has ended, and a late one immediately")
    func writers() throws {
        let exchange = URLSessionExchange(HTTPRequest(url: try url("https://example.com/")), streaming: nil)
        let streams = [FakeOutputStream(toMemory: ()), FakeOutputStream(toMemory: ())]
        let writers = streams.map { BodyWriter(HTTPBody(Data("x".utf8)).makeReader(), to: $0) { _ in } }
        for writer in writers { writer.open() }
        exchange.keep(writers[0])
        exchange.cancel(CancellationError())
        writers[0].queue.sync {}
        // The task still runs: it would take the end of the stream for the end of the body.
        #expect(streams[0].streamStatus == .open)
        exchange.releaseBody()
        exchange.keep(writers[1])
        for writer in writers { writer.queue.sync {} }
        #expect(streams.map(\.streamStatus) == [.closed, .closed])
    }

    @Test("the user's languages are not sent unless the request sets them, and then as the user ranks them")
    func languages() throws {
        let request = HTTPRequest(url: try url("https://example.com/"), headers: ["X-Padded": " a b  ", "X-Spaces": "  "])
        // A field with one space is left out by libcurl. URLSession on Apple platforms would add a field of its own.
        for (system, value) in [(URLSessionSystem.linux, " "), (.apple, "*")] {
            let made = try URLSessionTransport.makeURLRequest(request, on: system)
            #expect(made.value(forHTTPHeaderField: "Accept-Language") == value)
            // White space around a value does not count.
            #expect(made.value(forHTTPHeaderField: "X-Padded") == "a b" && made.value(forHTTPHeaderField: "X-Spaces") == "")
        }
        #expect(HTTPHeaders.acceptLanguage(of: ["de-CH", "en", "zh_Hans"]) == "de-CH, en;q=0.9, zh-Hans;q=0.8")
        #expect(HTTPHeaders.acceptLanguage(of: []) == "*")
        #expect(HTTPHeaders.acceptLanguage(of: ["", "e\r\nn", "é", "fr"]) == "fr")
        #expect(HTTPHeaders.acceptLanguage(of: Array(repeating: "en", count: 20)).hasSuffix("en;q=0.2"))
        let ness = Ness { $0.defaultHeaders["Accept-Language"] = HTTPHeaders.standardAcceptLanguage }
        #expect(ness.configuration.defaultHeaders["Accept-Language"]?.isEmpty == false)
    }

    @Test("without a User-Agent the program's name is sent, and not URLSession's own value", arguments: [URLSessionSystem.linux, .apple])
    func userAgent(system: URLSessionSystem) throws {
        for (name, expected) in [("X-Other", HTTPHeaders.defaultUserAgent), ("user-agent", "own")] {
            let headers: HTTPHeaders = [name: "own"]
            let request = HTTPRequest(url: try url("https://example.com/"), headers: headers)
            let made = try URLSessionTransport.makeURLRequest(request, on: system)
            #expect(made.value(forHTTPHeaderField: "User-Agent") == expected)
        }
    }

    @Test("on Linux a body is compressed only if the request asks for that, because URLSession there would not notice a cut")
    func compression() throws {
        let plain = HTTPRequest(url: try url("https://example.com/")), head = HTTPRequest(.head, url: plain.url)
        let asking = HTTPRequest(url: plain.url, headers: ["Accept-Encoding": "gzip"])
        for system in [URLSessionSystem.linux, .apple] {
            func requested(by request: HTTPRequest) throws -> String? {
                try URLSessionTransport.makeURLRequest(request, on: system).value(forHTTPHeaderField: "Accept-Encoding")
            }
            #expect(try requested(by: plain) == (system == .linux ? "identity" : nil))
            #expect(try requested(by: asking) == "gzip")
            var source = SessionSource()
            source.system = system
            for (request, isTaken) in [(plain, system == .apple), (head, true), (asking, true)] {
                #expect(URLSessionExchange(request, streaming: nil, over: source).takesCompressed == isTaken)
            }
        }
    }

    @Test("URLSession's own timeout never passes, and URLSession adds no cookies", arguments: [URLSessionSystem.linux, .apple])
    func ownLimits(system: URLSessionSystem) throws {
        let made = try URLSessionTransport.makeURLRequest(HTTPRequest(url: try url("https://example.com/")), on: system)
        #expect(made.timeoutInterval == URLSessionTransport.never && !made.httpShouldHandleCookies)
    }

    @Test("a decision about a challenge has URLSession's form, with the credential if there is one")
    func dispositions() {
        let credential = URLCredential(user: "ada", password: "secret", persistence: .none)
        let expected: [(ChallengeAnswer, URLSession.AuthChallengeDisposition, URLCredential?)] = [
            (.systemDefault, .performDefaultHandling, nil), (.use(credential), .useCredential, credential),
            (.use(nil), .useCredential, nil), (.reject, .rejectProtectionSpace, nil), (.cancel, .cancelAuthenticationChallenge, nil),
        ]
        for (answer, disposition, shown) in expected { #expect(answer.disposition == disposition && answer.credential === shown) }
    }

    @Test("a value in UTF-8 that was read as Latin-1 is repaired; other text beyond ASCII stays")
    func headerText() throws {
        func misread(_ text: String) -> String { String(String.UnicodeScalarView(text.utf8.map { Unicode.Scalar($0) })) }
        for text in ["", "plain", "Zürich", "日本.pdf", "e\u{301}"] { #expect(ResponseHeaders.repaired(misread(text)).isExactly(text)) }
        // Latin-1 that is not UTF-8, text that is no Latin-1, and a cut sequence.
        for text in ["Z\u{FC}rich", "日本", "\u{C3}", "\u{C3}\u{A9}\u{FF}"] { #expect(ResponseHeaders.repaired(text).isExactly(text)) }
        let fields = ["X-Name": misread("é"), "Set-Cookie": "a=\(misread("é"))"]
        let response = try #require(HTTPURLResponse(url: url("https://a.test/"), statusCode: 200, httpVersion: nil, headerFields: fields))
        let headers = ResponseHeaders.make(response, on: .apple)
        #expect(headers["X-Name"] == "é" && headers["Set-Cookie"] == "a=é")
        #expect(ResponseHeaders.make(response, on: .linux)["X-Name"] == misread("é"))
    }

    @Test("cookies that URLSession has joined are separated again, but not at a comma in quotes or in a date")
    func joinedCookies() {
        let expected = [
            ["a=1", "b=2"], [#"a="1""#, "b=2"], [#"a="1, b=2""#, "c=3"], ["a=1; Expires=Wed, 09 Jun 2021 10:18:14 GMT", "b=2"],
        ]
        for cookies in expected { #expect(ResponseHeaders.splitCookies(cookies.joined(separator: ", ")) == cookies) }
    }

    @Test("a coding that the system does not know, and that was not requested, is not removed where the transport delivers it as it is")
    func codings() throws {
        let request = HTTPRequest(url: try url("https://a.test/"))
        for (coding, isRemoved) in [("gzip", true), ("own", false), ("own, gzip", true), ("identity", false)] {
            let headers: HTTPHeaders = ["Content-Encoding": coding]
            #expect(ContentCoding.isRemoved(from: 200, headers, of: request, failsIfUnknown: false) == isRemoved, "\(coding)")
        }
        #expect(ContentCoding.isRemoved(from: 200, ["Content-Encoding": "own"], of: request, failsIfUnknown: true))
    }

    @Test("the version of HTTP is read from the name of the protocol, and times from pairs of dates")
    func measurements() {
        let versions: [(String?, ConnectionMetrics.HTTPVersion?)] = [
            ("http/1.0", .http1_0), ("http/1.1", .http1_1), ("HTTP/1.1", .http1_1), ("h2", .http2), ("h3", .http3), ("h3-29", .http3),
            ("spdy", nil), (nil, nil),
        ]
        for (name, version) in versions { #expect(ConnectionMetrics.httpVersion(named: name) == version) }
        let start = Date(timeIntervalSince1970: 100)
        #expect(ConnectionMetrics.interval(from: start, to: start + 1.5) == .seconds(1.5))
        #expect(ConnectionMetrics.interval(from: start, to: start - 1) == .zero)
        #expect(ConnectionMetrics.interval(from: start, to: nil) == nil && ConnectionMetrics.interval(from: nil, to: start) == nil)
    }
}
