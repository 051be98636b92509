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
            try Data([0xFF, 0xD8, 0, 13, 10]).write(to: file)
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
                    let boundary = try boundary(request)
                    var expected = Data()
                    func part(_ head: String, _ bytes: Data) {
                        expected += Data("--\(boundary)\r\n\(head)\r\n\r\n".utf8) + bytes + Data("\r\n".utf8)
                    }
                    let disposition = "Content-Disposition: form-data; name="
                    part(disposition + "\"color\"", Data("tabby".utf8))
                    part(disposition + "\"photo\"; filename=\"photo 1.jpg\"\r\nContent-Type: image/jpeg", Data([0xFF, 0xD8, 0, 13, 10]))
                    part(disposition + "\"raw\"; filename=\"raw.bin\"\r\nContent-Type: application/octet-stream", Data([1, 2, 3]))
                    part(disposition + "\"late\"; filename=\"late.txt\"\r\nContent-Type: text/plain", Data("made".utf8))
                    part(disposition + "\"data\"", Data("plain".utf8))
                    part(
                        disposition + "\"again\"; filename=\"other.jpg\"\r\nContent-Type: application/octet-stream",
                        Data([0xFF, 0xD8, 0, 13, 10]))
                    expected += Data("--\(boundary)--\r\n".utf8)
                    #expect(request.body == expected)
                    // The request has a Content-Length if the transport can send one.
                    #expect(request.headers["content-length"] == "\(expected.count)")
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
    func names(name: String, escaped: String) async throws {
        var form = MultipartForm()
        form.append("v", named: name)
        form.append(Data(), named: "f", fileName: name)
        try await sent(form) { server, promise in
            _ = try await promise.value
            let request = try #require(server.requests.first)
            let lines = request.body.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
            #expect(lines[1] == "Content-Disposition: form-data; name=\"\(escaped)\"\r")
            // The line breaks of a file name are not normalized to CRLF.
            let fileName = name.unicodeScalars.map { $0 == "\r" ? "%0D" : $0 == "\n" ? "%0A" : $0 == "\"" ? "%22" : String($0) }.joined()
            #expect(lines.contains("Content-Disposition: form-data; name=\"f\"; filename=\"\(fileName)\"\r"))
        }
    }

    @Test(
        "a name that would inject a line is rejected before anything is sent",
        arguments: ["text/plain\r\nX: y", "a\u{0}", "a\nb"])
    func injection(type: String) async throws {
        var form = MultipartForm()
        form.append(Data(), named: "a", contentType: type)
        try await sent(form) { server, promise in
            #expect(await promise.nessError()?.kind == .invalidRequest)
            #expect(server.requestCount == 0)
        }
        var named = MultipartForm()
        named.append("v", named: "a\u{0}b")
        #expect(throws: HTTPBodyError.self) { try named.makeBody() }
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
        var nothing = MultipartForm()
        nothing.append(deferred: { _ in })
        try await sent(nothing) { server, promise in
            _ = try await promise.value
            #expect(try parts(try #require(server.requests.first)).isEmpty)
        }
    }

    @Test("a deferred part that fails, or would inject a line, ends the request before anything is sent")
    func failingDeferredParts() async throws {
        var form = MultipartForm()
        form.append(deferred: { _ in throw Rejected() })
        try await sent(form) { server, promise in
            await #expect(throws: Rejected.self) { _ = try await promise.value }
            #expect(server.requestCount == 0)
        }
        var injecting = MultipartForm()
        injecting.append(deferred: { $0.append(Data(), named: "a", contentType: "a\r\nX: y") })
        try await sent(injecting) { server, promise in
            #expect(await promise.nessError()?.kind == .invalidRequest)
            #expect(server.requestCount == 0)
        }
    }

    @Test("an empty form is a complete body")
    func empty() async throws {
        try await sent(MultipartForm()) { server, promise in
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
            let body = String(decoding: try #require(server.requests.first).body, as: UTF8.self)
            let disposition = "Content-Disposition: form-data; name="
            #expect(body.contains(disposition + "\"user\"\r\nContent-Type: application/json\r\n\r\n{\"id\":1}\r\n"))
            #expect(
                body.contains(
                    disposition + "\"raw\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\nContent-ID: <a>\r\n\r\n1\r\n"))
            #expect(body.contains(disposition + "\"typed\"\r\nContent-Type: text/csv\r\n\r\n{\"id\":2}\r\n"))
        }
    }

    @Test("a header field of a deferred part's body cannot inject a line", arguments: ["a\r\nX-Evil: 1", "a\nb"])
    func deferredInjection(value: String) async throws {
        var form = MultipartForm()
        form.append(named: "a") { HTTPBody(Data(), headers: ["Content-ID": value]) }
        try await sent(form) { server, promise in
            #expect(await promise.nessError()?.kind == .invalidRequest)
            #expect(!server.requests.contains { $0.body.range(of: Data("X-Evil".utf8)) != nil })
        }
    }

    @Test("an error of a deferred part is the request's error; a missing file of it is a typed error")
    func failures() async throws {
        var form = MultipartForm()
        form.append(named: "a") { throw Rejected(name: "no picture") }
        try await sent(form) { server, promise in
            await #expect(throws: Rejected(name: "no picture")) { _ = try await promise.value }
            #expect(server.requestCount == 0)
        }
        for isDeferred in [false, true] {
            var form = MultipartForm()
            let missing = URL(fileURLWithPath: "/nowhere/at-all")
            if isDeferred { form.append(named: "a") { HTTPBody(file: missing) } } else { form.append(file: missing, named: "a") }
            try await sent(form) { server, promise in
                let error = await promise.nessError()
                #expect(error?.kind == .invalidRequest && error?.context.reason.contains("at-all") == true)
                #expect(server.requestCount == 0)
            }
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

    @Test("a mock receives the form as a server would, including its deferred parts")
    func mock() async throws {
        let rig = Rig()
        rig.mock.on(.post, "/a") { request in .text(request.bodyText) }
        var form = MultipartForm()
        form.append("one", named: "a")
        form.append(named: "b") { HTTPBody(Data("two".utf8)) }
        let result = try await rig.ness.httpRequest(.post, withUrl: "/a").set(multipart: form).dataRequest().value
        #expect(result.message.text.contains("name=\"a\"\r\n\r\none\r\n") && result.message.text.contains("name=\"b\"\r\n\r\ntwo\r\n"))
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
