import Foundation
import Testing

@testable import NessHTTP

/// A URL that counts as plain must be one that the long way finds nothing about.
@Suite struct PlainURLTests {
    @Test(
        "what is plain is normal with a path and without the scheme's own port",
        arguments: [
            ("http://a/", "http://a/"), ("http://a", "http://a/"), ("https://a:1", "https://a:1/"), ("http://a?q", nil),
            ("http://a?/", nil),
            ("https://a.b-c.example:8443/x%2fy?q=1&r=@:!$'()*+,;~_", "https://a.b-c.example:8443/x%2fy?q=1&r=@:!$'()*+,;~_"),
            ("http://a:80/", nil), ("https://a:443/", nil), ("http://a:443/", "http://a:443/"), ("https://a:80/x", "https://a:80/x"),
            ("http://1.2.3.4:65535/", "http://1.2.3.4:65535/"),
        ] as [(String, String?)])
    func plain(_ text: String, normalized: String?) throws {
        #expect(try #require(PlainURL(text)).normalized == normalized)
    }

    @Test(
        "what has to be looked at closely is not plain",
        arguments: [
            "", "http:", "http://", "http:///", "http://:80/", "HTTP://a/", "http://A/", "ftp://a/", "http://a:/", "http://a:0/",
            "http://a:65536/",
            "http://a:99999999999999999999/", "http://a:8x/", "http://u@a/", "http://a/#f", "http://a#", "http://[::1]/", "http://a%20/",
            "http://a_b/",
            "http://a/[]", "http://a/%", "http://a/%2", "http://a/%zz", "http://a/%%20", "http://a/ ", "http://a/\t", "http://a/\r\nX: y",
            "http://a/\u{e9}",
            "http://a/\"", "http://a/<>", "http://a/^", "http://a/`", "http://a/{}", "http://a/|", "http://a/\\", "http://a\\b/",
            "http://a/\u{7f}",
        ])
    func notPlain(_ text: String) {
        #expect(PlainURL(text) == nil)
    }

    @Test("what is plain goes on the wire as the long way has it", arguments: [1, 2, 3])
    func agrees(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "a", "Z", "9", "-", ".", "/", "?", "%", "%41", "%zz", ":", ":80", "@", "=", "&", "#", "[", "]", "\\", "é", " ", "|", "_", "+",
        ]
        var count = 0
        for _ in 0..<3_000 {
            let rest = (0..<Int.random(in: 0...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let text = (Bool.random(using: &random) ? "http://a" : "https://9.z") + rest
            guard let plain = PlainURL(text) else { continue }
            count += 1
            let parts = try #require(URLComponents(string: text))
            let url = try #require(parts.url)
            #expect(url.absoluteString == text)
            #expect(parts.fragment == nil && parts.user == nil && parts.host?.isEmpty == false)
            var normal = parts
            if normal.percentEncodedPath.isEmpty { normal.percentEncodedPath = "/" }
            if normal.port == (parts.scheme == "http" ? 80 : 443) { normal.port = nil }
            if let normalized = plain.normalized { #expect(normalized == normal.string) }
        }
        #expect(count > 300)
    }
}
