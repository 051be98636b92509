import Foundation
import NessHTTP
import NessTesting

/// A target of the fuzzer, which `FuzzTests` also replays. The targets cover all code that reads text from a caller or a server.
///
/// This file and `FuzzTarget+Secrets.swift` are compiled twice: here, and in the package in `Tests/Fuzz`, where libFuzzer drives them.
enum FuzzTarget: String, CaseIterable, Sendable {
    case headers, url, query, form, disposition, range, retry, json, redactor, cookies, events, challenges, caching, archive

    /// Reads an input, and checks the properties that hold for any input.
    /// - Parameters:
    ///   - bytes: The input.
    ///   - check: Called for each property, with its truth and its name.
    func run(_ bytes: [UInt8], _ check: (Bool, String) -> Void) {
        let text = String(decoding: bytes, as: UTF8.self)
        switch self {
        case .headers: Self.headers(text, check)
        case .url: Self.url(text, check)
        case .query: Self.query(text, check)
        case .form: Self.form(text, check)
        case .disposition: Self.disposition(text, check)
        case .range: Self.range(text, check)
        case .retry: Self.retry(text, check)
        case .json: Self.json(bytes, check)
        case .redactor: Self.redactor(text, bytes, check)
        case .cookies: Self.cookies(text, check)
        case .events: Self.events(bytes, check)
        case .challenges: Self.challenges(text, check)
        case .caching: Self.caching(text, check)
        case .archive: Self.archive(bytes, check)
        }
    }

    private static func isLine(_ text: String) -> Bool { !text.unicodeScalars.contains { $0.value < 32 || $0.value == 127 } }

    private static func headers(_ text: String, _ check: (Bool, String) -> Void) {
        var headers = HTTPHeaders()
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).prefix(50) {
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            headers.add(String(line[colon...].dropFirst()), for: String(line[..<colon]))
        }
        let original = headers
        check(headers == original, "headers equal themselves")
        for field in original {
            check(headers.contains(field.name), "what was added is there")
            // Field names are ASCII. The check for outgoing requests rejects all others.
            if (try? OutgoingCheck.check(field)) != nil {
                let value = String(String.UnicodeScalarView(field.value.unicodeScalars.filter { $0 != "\t" }))
                check(isLine(field.name) && isLine(value), "what is sent is one line")
            }
        }
        check(isLine("\(headers)"), "a description is one line")
        if let name = original.first?.name {
            headers.remove(name)
            check(!headers.contains(name), "what was removed is gone")
        }
        check(!ResponseHeaders.splitCookies(text).isEmpty, "cookies are not lost")
        let joined = ResponseHeaders.splitCookies(text).joined().unicodeScalars.filter { $0 != " " && $0 != "," }
        check(joined.elementsEqual(text.unicodeScalars.filter { $0 != " " && $0 != "," }), "splitting cookies loses no character")
    }

    private static func url(_ text: String, _ check: (Bool, String) -> Void) {
        check(isLine(Redactor().redacted(urlText: text)), "a redacted URL is one line")
        func hides(_ url: String) -> Bool { !Redactor().redacted(urlText: url).utf8.contains("hunter2".utf8) }
        check(hides("http://h/?a=\(text)&token=hunter2"), "nothing hides the name of a secret")
        if !text.utf8.contains(where: { "/?#&;".utf8.contains($0) }) {
            check(hides("http://h/?token=\(text)hunter2") && hides("http://user:hunter2\(text)@h/"), "nothing shows a secret")
        }
        for candidate in [text, "http://a\(text)", "https://9.z:\(text)"] {
            guard let common = ParsedURL(commonForm: candidate) else { continue }
            guard var parts = URLComponents(string: candidate) else { return check(false, "a URL in the common form is one") }
            check(parts.string == candidate && parts.url?.absoluteString == candidate, "a URL in the common form is sent as it is")
            let port = parts.port ?? 1
            check(parts.host?.isEmpty == false && parts.user == nil && parts.fragment == nil && (1...65_535).contains(port), "it is common")
            check(common.scheme == parts.scheme && common.host == parts.host, "the fast reader has the same origin")
            check(common.port == parts.port ?? (parts.scheme == "http" ? 80 : 443), "the fast reader has the same port")
            if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
            check(common.path == parts.percentEncodedPath, "the fast reader has the same path")
            let target = parts.percentEncodedPath + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
            check(common.target == target, "the fast reader has the same target")
            if parts.port == (parts.scheme == "http" ? 80 : 443) { parts.port = nil }
            check(common.normalized == parts.string, "both readers have one normal form")
        }
        guard let url = try? text.asURL() else { return }
        let parsed = ParsedURL(url)
        check(!parsed.path.isEmpty && parsed.target.hasPrefix(parsed.path), "any URL has a path")
        // Foundation on Linux writes a host with encoded characters differently each time.
        let isPlainHost =
            !parsed.host.contains("xn--")
            && parsed.host.utf8.allSatisfy { $0 == 45 || $0 == 46 || $0.hexDigitValue != nil || (97...122).contains($0) }
        if isPlainHost, let again = URL(string: parsed.normalized) {
            check(ParsedURL(again).normalized == parsed.normalized, "the normal form is normal")
        }
        guard let base = URL(string: "http://user:pass@example.com:8080/a/b?c#d") else { return }
        if let resolved = try? url.resolved(against: base), let sent = try? OutgoingCheck.checked(resolved) {
            let scheme = sent.scheme ?? ""
            check(scheme == "http" || scheme == "https", "only http is sent")
            check(isLine(sent.absoluteString) && !sent.absoluteString.contains(" "), "a URL that is sent is one word")
            check(sent.host?.isEmpty == false, "a URL that is sent has a host")
        }
        let response = HTTPResponse(statusCode: 302, headers: ["Location": text], request: HTTPRequest(url: base, headers: ["Cookie": "a"]))
        if let next = response.redirectRequest(), !next.url.hasSameOrigin(as: base) {
            check(!next.headers.contains("Cookie"), "a cookie stays at its origin")
        }
    }

    private static func query(_ text: String, _ check: (Bool, String) -> Void) {
        let query = URLQuery(parsing: text)
        let encoded = query.encoded
        check(URLQuery(parsing: encoded) == query, "what is written is read again")
        let plain = encoded.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || "-._~%&=".utf8.contains(byte)
        }
        check(plain, "only unreserved characters are written")
        if let url = URL(string: "http://example.com/x?y=z#f")?.appending(query) {
            check(url.fragment == "f" && url.path == "/x", "parameters change nothing else")
        } else {
            check(false, "parameters fit any URL")
        }
    }

    private static func form(_ text: String, _ check: (Bool, String) -> Void) {
        let half = text.index(text.startIndex, offsetBy: text.count / 2)
        let query = URLQuery([URLQuery.Item(name: String(text[..<half]), value: String(text[half...]))])
        let body = HTTPBody.form(query)
        let back = URLQuery(parsing: String(decoding: body.data ?? Data(), as: UTF8.self))
        check(back == query, "a form arrives as it was meant")
        _ = Redactor().snippet(of: Data(text.utf8), contentType: "application/x-www-form-urlencoded")
        check(isLine(Redactor().snippet(of: Data(text.utf8), contentType: nil)), "a snippet is one line")
    }

    private static func disposition(_ text: String, _ check: (Bool, String) -> Void) {
        if let base = URL(string: "http://h/a/") {
            let response = HTTPResponse(statusCode: 200, headers: ["Link": "<x>; rel=prev,\(text)"], request: HTTPRequest(url: base))
            check(response.linkURL(relation: "prev")?.absoluteString == "http://h/a/x", "a link hides no link before it")
            if let next = response.linkURL(relation: "next") { check(next.scheme != nil, "a link is absolute") }
        }
        for value in [text, "attachment; filename=\"\(text)\"", "attachment; filename*=UTF-8''\(text)"] {
            guard let name = ContentDisposition.fileName(value) else { continue }
            check(!name.isEmpty && !name.contains("/") && !name.contains("\\") && !name.hasPrefix("."), "a file name is one component")
            check(isLine(name) && name.utf8.count <= 200, "a file name is short and one line")
        }
    }

    private static func range(_ text: String, _ check: (Bool, String) -> Void) {
        for value in [text, "bytes \(text)"] {
            guard let range = ContentRange(value) else { continue }
            if let bytes = range.bytes { check(bytes.lowerBound >= 0 && bytes.upperBound < range.size ?? .max, "a range lies inside") }
        }
    }

    private static func retry(_ text: String, _ check: (Bool, String) -> Void) {
        let headers: HTTPHeaders = ["Retry-After": text, "Date": "Sun, 06 Nov 1994 08:49:37 GMT"]
        let response = HTTPResponse(statusCode: 503, headers: headers, request: HTTPRequest(url: URL(filePath: "/")))
        if let wait = response.retryAfter { check(wait >= .zero, "nobody waits less than nothing") }
        if let date = HTTPDate.parse(text) { check(HTTPDate.parse(HTTPDate.string(date)) == date, "a date is read as it is written") }
    }

    private static func json(_ bytes: [UInt8], _ check: (Bool, String) -> Void) {
        guard let value = try? JSONValue(parsing: Data(bytes)) else { return }
        guard let data = try? value.encoded() else { return check(false, "what was read can be written") }
        check((try? JSONValue(parsing: data)) == value, "what is written is read again")
    }

    private static func events(_ bytes: [UInt8], _ check: (Bool, String) -> Void) {
        func read(_ pieces: [ArraySlice<UInt8>]) -> (events: [ServerSentEvent], parser: EventParser) {
            var parser = EventParser(), splitter = LineSplitter(), events: [ServerSentEvent] = []
            for piece in pieces + [[]] {
                if piece.isEmpty { splitter.finish() } else { splitter.add(Data(piece)) }
                while let line = try? splitter.next() {
                    check(!line.utf8.contains { $0 == 10 || $0 == 13 }, "a line has no end in it")
                    if let event = try? parser.take(line) { events.append(event) }
                }
            }
            return (events, parser)
        }
        let (events, parser) = read([bytes[...]])
        let cut = bytes.isEmpty ? 0 : Int(bytes[0]) % bytes.count
        check(read([bytes[..<cut], bytes[cut...]].filter { !$0.isEmpty }).events == events, "events are the same wherever the pieces end")
        check(read(bytes.indices.map { bytes[$0...$0] }).events == events, "events are the same byte by byte")
        check(parser.retry ?? .zero >= .zero, "nobody waits less than nothing")
        if let id = parser.lastEventID {
            check((try? OutgoingCheck.check(HTTPHeaders.Field(name: "Last-Event-ID", value: id))) != nil, "an identifier can be sent back")
        }
        let written = events.map { event in
            let lines = event.data.split(separator: "\n", omittingEmptySubsequences: false).map { "data: \($0)\n" }.joined()
            return "event: \(event.event)\nid: \(event.id ?? "")\n\(lines)\n"
        }
        let again = read([Array(written.joined().utf8)[...]]).events
        check(again.map(\.data) == events.map(\.data) && again.map(\.event) == events.map(\.event), "what is written is read again")
    }

    private static func challenges(_ text: String, _ check: (Bool, String) -> Void) {
        let whole = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
        for value in [text, "Digest \(text)", "Digest qop=auth, nonce=\"n\", realm=\(text)"] {
            check(DigestChallenge.first(in: [value, whole]) != nil, "no field hides a challenge in another")
            guard let challenge = DigestChallenge.first(in: [value]) else { continue }
            let answer = "Digest realm=\"\(challenge.realm)\", nonce=\"\(challenge.nonce)\", qop=\"auth\""
            let again = DigestChallenge.first(in: [answer])
            check(again?.realm == challenge.realm && again?.nonce == challenge.nonce, "the fields sent back equal the received ones")
        }
    }

    private static func caching(_ text: String, _ check: (Bool, String) -> Void) {
        for values in [[text, "no-store"], ["no-store", text], ["no-store,\(text)"]] {
            var headers = HTTPHeaders()
            for value in values { headers.add(value, for: "Cache-Control") }
            check(CacheControl(headers).has("no-store"), "nothing hides no-store")
        }
        for values in [[text, "max-age=5"], ["max-age=5", text], ["max-age=5, \(text)"]] {
            var headers = HTTPHeaders()
            for value in values { headers.add(value, for: "Cache-Control") }
            let seconds = CacheControl(headers).seconds("max-age") ?? -1
            check(seconds >= 0 && seconds <= 5, "nothing makes a response younger")
        }
        let name = String(text.prefix { $0 != "=" })
        let seconds = CacheControl(["Cache-Control": text]).seconds(name) ?? 0
        check(seconds >= 0 && seconds <= 2_147_483_648, "a time is one")
        if let date = HTTPDate.parse(text) { check(HTTPDate.parse(HTTPDate.string(date)) == date, "a date is read as it is written") }
    }

    private static func archive(_ bytes: [UInt8], _ check: (Bool, String) -> Void) {
        let entry = Data("{\"log\":{\"entries\":[".utf8) + Data(bytes) + Data("]}}".utf8)
        for data in [Data(bytes), entry] {
            guard let archive = try? HTTPArchive(data: data) else { continue }
            check(ReplayTransport(archive).unusedEntries == archive.entries, "an archive can be replayed")
            for entry in archive.entries { _ = (entry.request.body?.data, entry.response.body.data) }
            guard let written = try? archive.encoded() else { return check(false, "what was read can be written") }
            check((try? HTTPArchive(data: written)) == archive, "what is written is read again")
        }
    }
}

extension HTTPDate {
    /// Formats a date in the current format.
    static func string(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970), parts = tm(), text = [CChar](repeating: 0, count: 32)
        gmtime_r(&seconds, &parts)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
    }
}
