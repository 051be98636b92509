import Foundation
import NessHTTP
import NessLock
import NessTesting
import TestSupport
import Testing

/// Forms with files (RFC 7578), as sent on the wire.
@Suite(.inTurn) struct MultipartTests {
    /// Returns the boundary as a server reads it.
    private func boundary(_ request: ReceivedRequest) throws -> String {
        let type = try #require(request.headers["content-type"])
        let mark = try #require(type.range(of: "multipart/form-data; boundary="))
        #expect(mark.lowerBound == type.startIndex)
        return String(type[mark.upperBound...])
    }

    private func sent(
        _ form: MultipartForm, _ answer: @escaping TestServer.Handler = { _ in .text("ok") },
        _ check: (TestServer, DataPromise) async throws -> Void
    ) async throws {
        try await withServer(answer) { server, ness in
            let promise = ness.httpRequest(.post, withUrl: "a").set(multipart: form).dataRequest(
                with: CounterRetryControl(maxRetryCount: 1))
            try await check(server, promise)
        }
    }

    @Test("a form sends its parts in order, byte for byte, and so does a copy of it")
    func exactBytes() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("photo 1.jpg")
            try Data("\u{0}\r\n".utf8).write(to: file)
            var form = MultipartForm()
            form.append("tabby", named: "color")
            form.append(file: file, named: "photo", contentType: "image/jpeg")
            form.append(Data([1, 2, 3]), named: "raw", fileName: "raw.bin")
            form.append(named: "late", fileName: "late.txt", contentType: "text/plain") { HTTPBody(Data("made".utf8)) }
            form.append(Data("plain".utf8), named: "data")
            form.append(file: file, named: "again", fileName: "other.jpg")
            let copy = form
            for form in [form, copy] {
                try await sent(form) { server, promise in
                    _ = try await promise.value
                    let request = try #require(server.requests.first)
                    #expect(
                        try parts(request) == [
                            "name=\"color\"\r\n\r\ntabby",
                            "name=\"photo\"; filename=\"photo 1.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\u{0}\r\n",
                            "name=\"raw\"; filename=\"raw.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n\u{1}\u{2}\u{3}",
                            "name=\"late\"; filename=\"late.txt\"\r\nContent-Type: text/plain\r\n\r\nmade",
                            "name=\"data\"\r\n\r\nplain",
                            "name=\"again\"; filename=\"other.jpg\"\r\nContent-Type: application/octet-stream\r\n\r\n\u{0}\r\n",
                        ])
                    // The request has a Content-Length if the transport can send one.
                    #expect(request.headers["content-length"] == "\(request.body.count)")
                }
            }
        }
    }

    @Test(
        "names are escaped as browsers do",
        arguments: [
            ("a\"b", "a%22b"), ("a\r\nb", "a%0D%0Ab"), ("a\nb", "a%0D%0Ab"), ("a\rb", "a%0D%0Ab"), ("a\r\rb\r", "a%0D%0A%0D%0Ab%0D%0A"),
            ("naïve 漢 👨‍👩‍👧", "naïve 漢 👨‍👩‍👧"), ("a\\b;c=d%22", "a\\b;c=d%22"), ("", ""),
        ])
    func names(name: String, escaped: String) throws {
        var form = MultipartForm()
        form.append("v", named: name)
        form.append(Data(), named: "f", fileName: name)
        let lines = try #require(form.makeBody().data).split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        #expect(lines[1] == "Content-Disposition: form-data; name=\"\(escaped)\"\r")
        // The line breaks of a file name are not normalized to CRLF.
        let fileName = name.unicodeScalars.map { $0 == "\r" ? "%0D" : $0 == "\n" ? "%0A" : $0 == "\"" ? "%22" : String($0) }.joined()
        #expect(lines.contains("Content-Disposition: form-data; name=\"f\"; filename=\"\(fileName)\"\r"))
    }

    /// Forms that would inject a line, or whose parts cannot be made.
    private static let impossibleForms: [String: @Sendable (inout MultipartForm) -> Void] = [
        "a type with a line": { $0.append(Data(), named: "a", contentType: "text/plain\r\nX: y") },
        "a type with NUL": { $0.append(Data(), named: "a", contentType: "a\u{0}") },
        "a type with LF": { $0.append(Data(), named: "a", contentType: "a\nb") },
        "a name with NUL": { $0.append("v", named: "a\u{0}b") },
        "a deferred type with a line": { $0.append(deferred: { $0.append(Data(), named: "a", contentType: "a\r\nX: y") }) },
        "a made field with a line": { $0.append(named: "a") { HTTPBody(Data(), headers: ["Content-ID": "a\r\nX-Evil: 1"]) } },
        "a made field with LF": { $0.append(named: "a") { HTTPBody(Data(), headers: ["Content-ID": "a\nb"]) } },
        "no file": { $0.append(file: URL(fileURLWithPath: "/nowhere/at-all"), named: "a") },
        "no file made": { $0.append(named: "a") { HTTPBody(file: URL(fileURLWithPath: "/nowhere/at-all")) } },
        "an error": { $0.append(named: "a") { throw Rejected() } },
        "an error of several": { $0.append(deferred: { _ in throw Rejected() }) },
    ]

    @Test(
        "a form that would inject a line, that has no file or whose closure fails is an error, and nothing is sent",
        arguments: impossibleForms.keys.sorted())
    func impossible(_ name: String) async throws {
        var form = MultipartForm()
        let fill = try #require(Self.impossibleForms[name])
        fill(&form)
        try await sent(form) { server, promise in
            if name.hasPrefix("an error") {
                await #expect(throws: Rejected()) { _ = try await promise.value }
            } else {
                let error = await promise.nessError()
                #expect(error?.kind == .invalidRequest)
                if name.hasPrefix("no file") { #expect(error?.context.reason.contains("at-all") == true) }
            }
            #expect(server.requestCount == 0)
        }
    }

    /// Returns the header field lines and the contents of a form's parts.
    private func parts(_ request: ReceivedRequest) throws -> [String] {
        let boundary = try boundary(request)
        var pieces = request.bodyText.components(separatedBy: "--\(boundary)")
        #expect(pieces.first == "" && pieces.last == "--\r\n")
        // CR LF is one character.
        pieces = pieces.dropFirst().dropLast().map { String($0.dropFirst().dropLast()) }
        return pieces.map { $0.replacingOccurrences(of: "Content-Disposition: form-data; ", with: "") }
    }

    @Test("a closure builds a form; its error is the request's")
    func closure() async throws {
        try await withServer { server, ness in
            _ = try await ness.post("a").set(multipart: { $0.append("1", named: "a") }).dataRequest().value
            #expect(try parts(try #require(server.requests.first)) == ["name=\"a\"\r\n\r\n1"])
            let failed = await ness.post("a").set(multipart: { form in
                form.append("1", named: "a")
                throw Rejected()
            }).dataRequest().nessError()
            #expect(failed?.kind == .invalidRequest && failed?.underlying is Rejected && server.requestCount == 1)
        }
    }

    @Test("a deferred part becomes any number of parts, in its place, and is made again for each attempt")
    func severalDeferredParts() async throws {
        let made = Tally()
        var form = MultipartForm()
        form.append("first", named: "a")
        form.append(deferred: { _ in })
        form.append(deferred: { form in
            let attempt = made.enter()
            for number in 0..<2 { form.append("\(attempt).\(number)", named: "b") }
            form.append(named: "c", contentType: "text/x") { HTTPBody(Data("made".utf8), headers: ["X-Own": "1"]) }
            form.append(deferred: { inner in inner.append("inner", named: "d") })
        })
        form.append("last", named: "e")
        #expect("\(form)" == "multipart/form-data of 4 parts")
        try await sent(form, { _ in .status(503) }) { server, promise in
            _ = try await promise.value
            for (attempt, request) in server.requests.enumerated() {
                #expect(
                    try parts(request) == [
                        "name=\"a\"\r\n\r\nfirst", "name=\"b\"\r\n\r\n\(attempt).0", "name=\"b\"\r\n\r\n\(attempt).1",
                        "name=\"c\"\r\nContent-Type: text/x\r\nX-Own: 1\r\n\r\nmade", "name=\"d\"\r\n\r\ninner",
                        "name=\"e\"\r\n\r\nlast",
                    ])
                #expect(request.headers["Content-Length"] == "\(request.body.count)")
            }
            #expect(server.requestCount == 2)
        }
    }

    @Test("a form without parts is a complete body", arguments: [true, false])
    func empty(isDeferred: Bool) async throws {
        var nothing = MultipartForm()
        if isDeferred { nothing.append(deferred: { _ in }) }
        try await sent(nothing) { server, promise in
            _ = try await promise.value
            let request = try #require(server.requests.first)
            #expect(request.bodyText == "--\(try boundary(request))--\r\n")
        }
    }

    @Test("each form has its own boundary, which is not in its data")
    func ownBoundary() throws {
        func boundary(_ form: MultipartForm) throws -> String {
            String(try #require(try form.makeBody().headers["content-type"]).dropFirst("multipart/form-data; boundary=".count))
        }
        var form = MultipartForm()
        form.append("v", named: "a")
        let first = try boundary(form)
        #expect(try boundary(form) == first && boundary(MultipartForm()) != boundary(MultipartForm()))
        #expect(first.utf8.count <= 70 && first.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        form.append(Data("x--\(first)--x".utf8), named: "b")
        let second = try boundary(form)
        #expect(second != first)
        form.append("\(second)", named: "c")
        #expect(try ![first, second].contains(boundary(form)))
    }

    @Test(
        "deferred parts are made off the main thread, once per attempt; the form is sent again completely",
        arguments: [503, 307, 308, 200])
    func deferred(status: Int) async throws {
        let made = Tally(), isOnMain = Lock(false), number = Tally()
        try await withFolder { folder in
            let file = folder.appendingPathComponent("big")
            try patternedData(3_000_000).write(to: file)
            var form = MultipartForm()
            form.append("first", named: "a")
            form.append(named: "b") {
                made.enter()
                isOnMain.withLock { $0 = $0 || isOnMainQueue() }
                return HTTPBody(file: file)
            }
            form.append(named: "c") { HTTPBody(Data()) }
            try await sent(form) { _ in
                number.enter() == 0 ? .text("again", status: status, headers: ["Location": "/b"]) : .text("ok")
            } _: { server, promise in
                _ = try await promise.value
                let bodies = server.requests.map(\.body)
                #expect(bodies.count == (status == 200 ? 1 : 2) && Set(bodies).count == 1)
                #expect(bodies[0].range(of: patternedData(3_000_000)) != nil && server.requests[0].isChunked == Engine.isURLSessionOnLinux)
                #expect(made.total == (status == 503 ? 2 : 1) && !isOnMain.withLock { $0 })
            }
        }
    }

    @Test("a deferred part keeps the header fields of its body; a content type given with the part wins")
    func deferredFields() async throws {
        var form = MultipartForm()
        form.append(named: "user") { try HTTPBody.json(["id": 1]) }
        form.append(named: "raw", fileName: "a.bin") {
            HTTPBody(Data("1".utf8), headers: ["Content-ID": "<a>", "Content-Disposition": "x"])
        }
        form.append(named: "typed", contentType: "text/csv") { try HTTPBody.json(["id": 2]) }
        try await sent(form) { server, promise in
            _ = try await promise.value
            #expect(
                try parts(try #require(server.requests.first)) == [
                    "name=\"user\"\r\nContent-Type: application/json\r\n\r\n{\"id\":1}",
                    "name=\"raw\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\nContent-ID: <a>\r\n\r\n1",
                    "name=\"typed\"\r\nContent-Type: text/csv\r\n\r\n{\"id\":2}",
                ])
        }
    }

    @Test("a drop while a part is being made ends the request, and cancels the closure")
    func dropWhileMaking() async throws {
        let begun = TestGate(), cancelled = TestGate()
        var form = MultipartForm()
        form.append(named: "a") {
            begun.open()
            await withTaskCancellationHandler {
                await TestGate().wait()
            } onCancel: {
                cancelled.open()
            }
            return HTTPBody(Data())
        }
        try await sent(form) { server, promise in
            await begun.wait()
            promise.drop()
            #expect(await promise.nessError()?.kind == .dropped)
            await cancelled.wait()
            #expect(server.requestCount == 0)
        }
    }

    @Test("forms of files and bytes are equal by content; a form with a closure equals no other")
    func identity() throws {
        func form(_ make: (inout MultipartForm) -> Void, from base: MultipartForm) throws -> HTTPBody {
            var form = base
            make(&form)
            return try form.makeBody()
        }
        let base = MultipartForm()
        let one = try form({ $0.append(file: URL(fileURLWithPath: "/a"), named: "x") }, from: base)
        let same = try form({ $0.append(file: URL(fileURLWithPath: "/a"), named: "x") }, from: base)
        let other = try form({ $0.append(file: URL(fileURLWithPath: "/b"), named: "x", fileName: "a") }, from: base)
        let deferred = try form({ $0.append(named: "x") { HTTPBody(Data()) } }, from: base)
        #expect(one == same && one != other && deferred != deferred)
        #expect(one.length == nil && one.data == nil && deferred.length == nil)
    }

    @Test("a reader returns the bytes in pieces of any size; the reader of an unresolved body throws")
    func reader() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("f")
            try patternedData(1_000).write(to: file)
            let body = HTTPBody(
                segments: [.data(Data("ab".utf8)), .file(FileSlice(file)), .data(Data()), .data(patternedData(10).dropFirst(3))],
                headers: [:])
            let resolved = try await body.resolved()
            #expect(resolved.length == 1_009)
            for size in [0, 1, 7, 1_000, 100_000] {
                let reader = resolved.makeReader()
                var whole = Data()
                while case let piece = try reader.read(upTo: size), !piece.isEmpty {
                    #expect(piece.count <= max(1, size))
                    whole += piece
                }
                #expect(whole == Data("ab".utf8) + patternedData(1_000) + patternedData(10).dropFirst(3))
            }
            let deferred = HTTPBody(segments: [.deferred { HTTPBody(Data()) }], headers: [:])
            #expect(throws: TransportError.self) { _ = try deferred.makeReader().read(upTo: 1) }
        }
    }

    @Test("adjacent parts in memory are joined into few pieces")
    func pieces() throws {
        var form = MultipartForm()
        for number in 0..<10_000 { form.append("value", named: "field\(number)") }
        let body = try form.makeBody()
        let length = try #require(body.length)
        #expect(body.segments.count <= 1 + Int(length) / (32 << 10))
        #expect(body.data?.count == Int(length))
    }
}
