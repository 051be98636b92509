import Foundation
import Testing

@testable import NessHTTP

/// A URL that counts as plain must be one that the long way finds nothing about.
@Suite struct PlainURLTests {
    @Test(
        "what is plain is normal with a path and without the scheme's own port",
        arguments: [
            ("http://a/", true), ("https://a.b-c.example:8443/x%2Fy?q=1&r[]", nil),
            ("https://a.b-c.example:8443/x%2fy?q=1&r=@:!$'()*+,;~_", true),
            ("http://a", false), ("http://a?q", false), ("http://a:80/", false), ("https://a:443/", false), ("http://a:443/", true),
            ("https://a:80/x", true), ("http://1.2.3.4:65535/", true),
        ] as [(String, Bool?)])
    func plain(_ text: String, isNormal: Bool?) {
        #expect(PlainURL(text)?.isNormal == isNormal)
    }

    @Test(
        "what has to be looked at closely is not plain",
        arguments: [
            "", "http:", "http://", "http:///", "http://:80/", "HTTP://a/", "http://A/", "ftp://a/", "http://a:/", "http://a:0/",
            "http://a:65536/",
            "http://a:99999999999999999999/", "http://a:8x/", "http://u@a/", "http://a/#f", "http://a#", "http://[::1]/", "http://a%20/",
            "http://a_b/",
            "http://a/%", "http://a/%2", "http://a/%zz", "http://a/%%20", "http://a/ ", "http://a/\t", "http://a/\r\nX: y",
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
            #expect(plain.isNormal == (!parts.percentEncodedPath.isEmpty && parts.port != (parts.scheme == "http" ? 80 : 443)))
        }
        #expect(count > 300)
    }
}
