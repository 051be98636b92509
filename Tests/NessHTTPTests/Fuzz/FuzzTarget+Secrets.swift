import Foundation
import NessHTTP

// The targets for secrets. Like `FuzzTarget.swift`, this file is compiled twice.

extension FuzzTarget {
    /// Checks that no string before, after or inside a secret makes the redactor show it: neither the value of a secret name, nor a value
    /// that the request sent.
    static func redactor(_ text: String, _ bytes: [UInt8], _ check: (Bool, String) -> Void) {
        let secret = "hunter2", redactor = Redactor()
        guard !text.utf8.contains(secret.utf8), let string = try? json(.string(text)) else { return }
        let encoded = PercentEncoding.encode(text)
        let objects = [
            #"{"a":\#(string),"token":"hunter2"}"#, #"{"token":\#(string),"token":"hunter2"}"#,
            #"{"pass\u0077ord":"hunter2","a":\#(string)}"#,
            #"{"token":{"a":\#(string),"b":["hunter2"]}}"#, #"{"a":\#(string),"b":{"token":"x\"hunter2"}}"#,
            #"{"q":"a=\#(encoded)&pwd=hunter2"}"#,
        ]
        let object = objects[bytes.count % objects.count]
        guard let once = try? json(.string(object)), let twice = try? json(["body": .string("[\(once)]")]) else { return }
        let shapes = [
            object, #"{"body":\#(once)}"#, twice, String(twice.dropLast(twice.count / 8)), "\(text)\n\(object)", "\(text)\n\(twice)",
            "a=\(encoded)&password=hunter2", "password=\(encoded)hunter2&b=1", "\(text)\npassword=hunter2",
            "\(text)\nToken: hunter2\n\(text)",
            "next=\(PercentEncoding.encode("/?a=\(encoded)&token=hunter2"))", "\(text)\n//user:hunter2@host/\(encoded)",
            "\(text)\n<token>\(encoded)hunter2</token>",
        ]
        for shape in shapes {
            check(!redactor.redacted(text: shape).utf8.contains(secret.utf8), "a string shows no secret: \(shape)")
            for type in ["application/x-www-form-urlencoded", "text/plain"] {
                let snippet = redactor.snippet(of: Data(shape.utf8), contentType: type)
                check(!snippet.utf8.contains(secret.utf8), "a body shows no secret: \(shape)")
            }
        }
        for location in [
            "//user:hunter2@h\(encoded)", "user:hunter2@h/\(text)", "http:/u:hunter2@h\(text)", "/x?a=\(encoded)&code=hunter2",
        ] {
            let shown = "\(["Location": location] as HTTPHeaders)"
            check(!shown.utf8.contains(secret.utf8), "a field shows no secret: \(location)")
        }
        let raw = String(decoding: bytes + Array("\n{\"token\":\"hunter2\"}".utf8), as: UTF8.self)
        check(redactor.holdsSecret(raw, byAnyName: false), "bytes with a secret are found")
        let parts = Data("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(text)hunter2\r\n--b--".utf8)
        check(!redactor.snippet(of: parts, contentType: nil).utf8.contains(secret.utf8), "parts are not shown")
        sent(text, string, encoded, check)
    }

    /// Checks that a secret that the request sent is masked in strings without a secret name.
    private static func sent(_ text: String, _ string: String, _ encoded: String, _ check: (Bool, String) -> Void) {
        let secret = "sk-hunter2"
        guard let url = URL(string: "http://h/"), let once = try? json(.string("\(text) \(secret) \(text)")) else { return }
        let redactor = HTTPRequest(url: url, headers: ["Authorization": "Bearer \(secret)"]).redactor
        let shapes = [
            "\(text)\(secret)\(text)", #"{"a":\#(string),"b":\#(once)}"#, "a=\(encoded)\(secret)&b=1", #"{"\#(secret)":\#(once)"#,
        ]
        for shape in shapes {
            for type in ["application/x-www-form-urlencoded", "application/json", "text/plain"] {
                let snippet = redactor.snippet(of: Data(shape.utf8), contentType: type)
                check(!snippet.utf8.contains(secret.utf8), "a sent secret is masked in a body: \(shape)")
            }
            for shown in [redactor.redacted(text: shape), redactor.redacted(urlText: shape)] {
                check(!shown.utf8.contains(secret.utf8), "a sent secret is masked: \(shape)")
            }
        }
    }

    private static func json(_ value: JSONValue) throws -> String { String(decoding: try value.encoded(), as: UTF8.self) }

    /// Checks that no field sets a cookie for foreign hosts, or changes a cookie that was set over https.
    static func cookies(_ text: String, _ check: (Bool, String) -> Void) {
        let now = Date(timeIntervalSince1970: 784_111_777), host = "a.b.example.co.uk"
        guard let url = URL(string: "https://\(host)/x/y"), let plain = URL(string: "http://\(host)/x/y") else { return }
        for field in [text, "a=b; \(text)", "a=b; Domain=\(text)", "a=b; Expires=\(text)", "a=b; Path=\(text)"] {
            guard let cookie = Cookie(setCookie: field, from: url, now: now) else { continue }
            check(
                !cookie.name.isEmpty && !(cookie.name + cookie.value).utf8.contains { ($0 < 32 && $0 != 9) || $0 == 127 },
                "a cookie is text")
            let isParent = host.hasSuffix(".\(cookie.domain)") && !PublicSuffix.contains(cookie.domain)
            check(cookie.domain == host || (isParent && !cookie.isHostOnly), "a cookie is for its host, or a domain of its owner's")
            check(cookie.path.hasPrefix("/"), "a path begins with a slash")
            check(cookie.expires.map { $0 <= now + 400 * 86_400 } ?? true, "no cookie is kept for ever")
            let again = Cookie(setCookie: "\(cookie.name)=\(cookie.value); Secure; Path=/", from: url, now: now)
            check(again?.name == cookie.name && again?.value == cookie.value, "a cookie is read as it is sent")
            check(!"\(cookie)".contains("\n"), "a description is one line")
        }
        let jar = CookieJar(now: { now })
        jar.store(from: ["Set-Cookie": "id=good; Secure; Path=/"], url: url)
        for field in [text, "id=\(text)", "id=evil; \(text)"] { jar.store(from: ["Set-Cookie": field], url: plain) }
        check(jar.header(for: url)?.contains("id=good") == true, "http leaves a secure cookie alone")
        if let date = CookieDate.parse(text) {
            check(CookieDate.parse(HTTPDate.string(date)) == date, "a date is read as it is written")
        }
        let lines = text.split(separator: "\n").map(String.init).filter { !$0.utf8.contains(UInt8(ascii: "\"")) && !$0.contains(", ") }
        let cookies = lines.map { "c=\($0.utf8.filter { $0 != UInt8(ascii: ",") }.count),x=\($0.hasSuffix(",") ? "" : $0)" }
        if !cookies.isEmpty { check(ResponseHeaders.splitCookies(cookies.joined(separator: ", ")) == cookies, "lines stay what they are") }
    }
}
