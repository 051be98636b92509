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
    private func exchange() throws -> URLSessionExchange {
        URLSessionExchange(HTTPRequest(url: try url("https://example.com/")), streaming: nil)
    }

    @Test("the pipeline handles an origin's HTTP authentication, the host's rules its certificates, the system proxies")
    func challenges() {
        for name in ["HTTPBasic", "HTTPDigest", "NTLM", "Negotiate"] {
            let named = AuthenticationMethod("NSURLAuthenticationMethod" + name, isProxy: false, usesSystemCredentials: true)
            #expect(named == (name.hasPrefix("HTTP") ? .http : .system))
            #expect(AuthenticationMethod("NSURLAuthenticationMethod" + name, isProxy: false) == .http)
            #expect(AuthenticationMethod("NSURLAuthenticationMethod" + name, isProxy: true) == .system)
        }
        #expect(AuthenticationMethod("NSURLAuthenticationMethodClientCertificate", isProxy: false) == .clientCertificate)
        #expect(AuthenticationMethod("NSURLAuthenticationMethodClientCertificate", isProxy: true) == .system)
        for name in ["Default", "HTMLForm"] {
            #expect(AuthenticationMethod("NSURLAuthenticationMethod" + name, isProxy: false) == .system)
        }
        #expect(AuthenticationMethod("NSURLAuthenticationMethodServerTrust", isProxy: false) == .serverTrust)
        #expect(AuthenticationMethod("NSURLAuthenticationMethodServerTrust", isProxy: true) == .system)
        #expect(NSURLAuthenticationMethodHTTPBasic == "NSURLAuthenticationMethodHTTPBasic")
    }

    @Test("a certificate that the caller's closure rejects is a failure of TLS, although URLSession says that the task was canceled")
    func rejectedCertificate() async throws {
        let rejected = try exchange()
        rejected.rejected(.pinMismatch, "not that one")
        rejected.completed(NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled), nil)
        let error = await #expect(throws: TransportError.self) { try await rejected.mailbox.deliver(to: { _ in }, resume: {}) }
        #expect(error?.kind == .tls && error?.tlsFailure == .pinMismatch)
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
        func response(_ status: Int) throws -> HTTPURLResponse {
            let url = try url("https://example.com/")
            return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: ["Link": "</a>"]))
        }
        let two = try exchange()
        two.receivedInterim(try response(103))
        two.receivedInterim(try response(103))
        two.received(try response(200))
        two.completed(nil, nil)
        let statuses = Log<Int>()
        try await two.mailbox.deliver(
            to: { event in
                switch event {
                case .interim(let status, let headers): statuses.add(headers["Link"] == "</a>" ? status : 0)
                case .head(let status, _): statuses.add(status)
                default: break
                }
            }, resume: {})
        #expect(statuses.entries == [103, 103, 200])

        let endless = try exchange()
        for _ in 0...HeadChoice.maximumInterimCount { endless.receivedInterim(try response(103)) }
        let error = await #expect(throws: TransportError.self) { try await endless.mailbox.deliver(to: { _ in }, resume: {}) }
        #expect(error?.kind == .malformedResponse)
    }

    @Test("a request waits for a network that it does not exclude, even where only the URLSession excludes one")
    func networks() throws {
        var request = HTTPRequest(url: try url("https://example.com/"))
        #expect(NetworkTraits(refusedBy: request) == [])
        #expect(NetworkTraits(refusedBy: request, reason: 2) == .constrained && NetworkTraits(refusedBy: request, reason: 9) == [])
        request[AllowsCellularAccess.self] = false
        #expect(NetworkTraits(refusedBy: request, reason: 1) == [.cellular, .expensive])
        request[AllowsExpensiveNetworkAccess.self] = false
        request[AllowsConstrainedNetworkAccess.self] = false
        #expect(NetworkTraits(refusedBy: request) == [.cellular, .expensive, .constrained])
    }

    @Test("a task that URLSession cancels by itself is a lost connection, not a drop by the caller")
    func foreignCancel() async throws {
        let cancelled = try exchange()
        cancelled.completed(NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled), nil)
        let error = await #expect(throws: TransportError.self) { try await cancelled.mailbox.deliver(to: { _ in }, resume: {}) }
        #expect(error?.kind == .connectionLost)
    }

    @Test("the writer of a body's stream is closed when the task has ended, and a late one immediately")
    func writers() throws {
        let exchange = try exchange()
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
        let request = HTTPRequest(url: try url("https://example.com/"))
        // A field with one space is left out by libcurl. URLSession on Apple platforms would add a field of its own.
        for (system, value) in [(URLSessionSystem.linux, " "), (.apple, "*")] {
            #expect(try URLSessionTransport.makeURLRequest(request, on: system).value(forHTTPHeaderField: "Accept-Language") == value)
        }
        #expect(HTTPHeaders.acceptLanguage(of: ["de-CH", "en", "zh_Hans"]) == "de-CH, en;q=0.9, zh-Hans;q=0.8")
        #expect(HTTPHeaders.acceptLanguage(of: []) == "*")
        #expect(HTTPHeaders.acceptLanguage(of: ["", "e\r\nn", "é", "fr"]) == "fr")
        #expect(HTTPHeaders.acceptLanguage(of: Array(repeating: "en", count: 20)).hasSuffix("en;q=0.2"))
        let ness = Ness { $0.defaultHeaders["Accept-Language"] = HTTPHeaders.standardAcceptLanguage }
        #expect(ness.configuration.defaultHeaders["Accept-Language"]?.isEmpty == false)
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
