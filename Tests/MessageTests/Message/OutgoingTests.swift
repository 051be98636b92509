import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The check of outgoing requests: the requests that it refuses before any byte is sent, and those that it accepts.
@Suite(.inTurn) struct OutgoingTests {
    /// Changes a valid POST with a closure, sends it, and expects a refusal before anything is sent.
    private func refused(
        _ method: HTTPMethod = .post, reason: String = "", sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (RequestBuilder) -> RequestBuilder = { $0 }
    ) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let error = await change(rig.ness.httpRequest(method, withUrl: "x")).dataRequest().nessError(sourceLocation: sourceLocation)
        #expect(error?.kind == .invalidRequest && error?.context.attempts == 0, sourceLocation: sourceLocation)
        #expect(reason.isEmpty || error?.context.reason.contains(reason) == true, sourceLocation: sourceLocation)
        #expect(error?.description.contains { $0.isNewline } == false, sourceLocation: sourceLocation)
        #expect(rig.mock.requests.isEmpty, sourceLocation: sourceLocation)
    }

    static let badNames = [
        "", " ", "X ", " X", "X Y", "X\tY", "X\r\nInjected: 1", "X\n", "X\r", "X\0", "X:", "X: 1\r\nY", "X(", "X)", "X,Y", "X/Y", "X;",
        "X<", "X=",
        "X>", "X?", "X@", "X[", "X\\", "X]", "X{", "X}", "\"X\"", "Ü", "X\u{7F}", "X\u{1B}", "X\u{85}",
    ]

    @Test("a header name that is not a token is rejected", arguments: badNames)
    func headerName(name: String) async throws {
        try await refused(reason: "name") { $0.set(headers: [name: "1"]) }
    }

    @Test("a field that was given as a name shows no value in the error", arguments: ["Token: hunter2", "Password:hunter2", "A hunter2"])
    func mistakenName(name: String) async throws {
        let error = await Ness().get("http://a.test/").set(headers: [name: ""]).dataRequest().nessError()
        #expect(error?.kind == .invalidRequest && error?.description.contains("hunter2") == false)
    }

    @Test(
        "a header value with a control character is rejected",
        arguments: ["\r\nInjected: 1", "a\rb", "a\nb", "\0", "a\0b", "\u{1}", "\u{1B}[0m", "\u{7F}", "a\r\n", "\n", "a\r\n b"])
    func headerValue(value: String) async throws {
        try await refused(reason: "X-Test") { $0.set(headers: ["X-Test": value]) }
        try await refused(reason: "X-Test") { $0.set(headers: ["X-Test": "fine"]).add(headerValue: value, forKey: "X-Test") }
    }

    @Test("invalid header fields are rejected from every source")
    func headerSources() async throws {
        try await refused { $0.set(body: HTTPBody(Data("x".utf8), headers: ["X": "a\r\nInjected: 1"])) }
        try await refused { $0.set(body: HTTPBody(Data("x".utf8), headers: ["X\r\nInjected": "1"])) }
        try await refused { $0.set(body: HTTPBody(Data("x".utf8), headers: ["Content-Length": "1000"])) }
        let bad: HTTPHeaders = ["X": "a\r\nInjected: 1"]
        let loader = ClosureLoader { request, next in
            var request = request
            request.headers = bad
            return try await next(request)
        }
        var changes: [(inout Ness.Configuration) -> Void] = [{ $0.defaultHeaders = bad }, { $0.loaders = [loader] }]
        // At every place, even below the check.
        for place in LoaderPlace.allCases { changes.append { $0.insert(loader, at: place) } }
        for configure in changes {
            let rig = Rig(onUnmatched: .reply(.status(200)), configure)
            #expect(await rig.ness.httpRequest(withUrl: "x").dataRequest().nessError()?.kind == .invalidRequest)
            #expect(rig.mock.requests.isEmpty)
        }
    }

    @Test(
        "a header field that the caller must not set is rejected",
        arguments: ["Content-Length", "content-length", "Transfer-Encoding", "TRANSFER-ENCODING", "Host", "host"])
    func ownHeader(name: String) async throws {
        try await refused(reason: name) { $0.set(headers: [name: "3"]) }
        try await refused(reason: name) { $0.set(headers: [name: "3"]).set(body: Data("abc".utf8)) }
    }

    @Test(
        "a method that is not a token is rejected, and so is CONNECT",
        arguments: ["", " ", "GET ", "GE T", "GET\r\nInjected: 1", "GET / HTTP/1.1\r\nX: y\r\n\r\n", "G\0T", "GÉT", "G:T", "G(T)", "\n"])
    func method(name: String) async throws {
        try await refused(.custom(name), reason: "method")
        try await refused(.connect, reason: "CONNECT")
    }

    @Test("a body for GET, HEAD or TRACE is rejected", arguments: [HTTPMethod.get, .head, .trace])
    func bodyOfGet(method: HTTPMethod) async throws {
        try await refused(method, reason: "body") { $0.set(stringBody: "x") }
        try await refused(method, reason: "body") { $0.set(body: Data()) }
    }

    static let badLimits: [Duration] = [
        .zero, .seconds(-1), .nanoseconds(-1), .seconds(Int64.min), Duration(secondsComponent: .min, attosecondsComponent: 0),
    ]

    @Test("a time limit that is not positive is rejected", arguments: badLimits)
    func limits(limit: Duration) async throws {
        try await refused(reason: "timeout") { $0.set(timeout: limit) }
        try await refused(reason: "deadline") { $0.set(deadline: limit) }
    }

    @Test("an unlimited time limit is accepted", arguments: [Duration.seconds(Int64.max), .seconds(1e15)])
    func longLimits(limit: Duration) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        _ = try await rig.ness.httpRequest(withUrl: "x").set(timeout: limit, deadline: limit).dataRequest().value
    }

    @Test(
        "header values of visible characters, tabs and beyond ASCII are sent, under any token",
        arguments: ["a\tb", "é漢", "!#$%&'*+-.^_`|~", "a: b, c; d=\"e\"", ""])
    func goodValues(value: String) async throws {
        let rig = Rig(onUnmatched: .reply(.status(200)))
        _ = try await rig.ness.httpRequest(withUrl: "x").set(headers: ["X!#$%&'*+-.^_`|~9": value]).dataRequest().value
        #expect(rig.mock.received.first?.headers["X!#$%&'*+-.^_`|~9"] == value)
    }
}
