import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// The fast reader must find in a URL what `URLComponents` finds, or leave it alone.
@Suite struct ParsedURLTests {
    @Test(
        "the normal form has a path and no port that the scheme implies",
        arguments: [
            ("http://a/", "http://a/"), ("http://a", "http://a/"), ("https://a:1", "https://a:1/"), ("http://a?q", "http://a/?q"),
            ("http://a?/", "http://a/?/"),
            ("https://a.b-c.example:8443/x%2fy?q=1&r=@:!$'()*+,;~_", "https://a.b-c.example:8443/x%2fy?q=1&r=@:!$'()*+,;~_"),
            ("http://a:80/", "http://a/"), ("https://a:443/", "https://a/"), ("http://a:443/", "http://a:443/"),
            ("https://a:80/x", "https://a:80/x"),
            ("http://1.2.3.4:65535/", "http://1.2.3.4:65535/"),
            ("http://a:80", "http://a/"), ("https://a:443?q=1", "https://a/?q=1"),
        ])
    func normalForm(_ text: String, normalized: String) throws {
        #expect(try #require(ParsedURL(commonForm: text)).normalized == normalized)
    }

    @Test(
        "a URL in another form is left to URLComponents",
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
    func notCommon(_ text: String) {
        #expect(ParsedURL(commonForm: text) == nil)
    }

    @Test("the fast reader and URLComponents agree", arguments: [1, 2, 3])
    func agrees(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "a", "Z", "9", "-", ".", "/", "?", "%", "%41", "%zz", ":", ":80", "@", "=", "&", "#", "[", "]", "\\", "é", " ", "|", "_", "+",
        ]
        var count = 0
        for _ in 0..<3_000 {
            let rest = (0..<Int.random(in: 0...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let text = (Bool.random(using: &random) ? "http://a" : "https://9.z") + rest
            guard let common = ParsedURL(commonForm: text) else { continue }
            count += 1
            let parts = try #require(URLComponents(string: text))
            let url = try #require(parts.url)
            #expect(url.absoluteString == text)
            #expect(parts.fragment == nil && parts.user == nil && parts.host?.isEmpty == false)
            var normal = parts
            if normal.percentEncodedPath.isEmpty { normal.percentEncodedPath = "/" }
            if normal.port == (parts.scheme == "http" ? 80 : 443) { normal.port = nil }
            #expect(common.normalized == normal.string)
            #expect(common.scheme == parts.scheme && common.host == parts.host && common.path == normal.percentEncodedPath)
            #expect(common.port == parts.port ?? (parts.scheme == "http" ? 80 : 443))
            #expect(common.target == normal.percentEncodedPath + (parts.percentEncodedQuery.map { "?\($0)" } ?? ""))
        }
        #expect(count > 300)
    }

    @Test(
        "a URL in any form has the parts of its normal form",
        arguments: [
            ("HTTP://EXAMPLE.com:80/a/b?q#f", "http://example.com:80", "/a/b", "/a", "/a/b?q", "http://example.com/a/b?q"),
            ("https://u:p@h/x/", "https://h:443", "/x/", "/x", "/x/", "https://u:p@h/x/"),
            ("http://[::1]:8080", "http://[::1]:8080", "/", "/", "/", "http://[::1]:8080/"),
            ("https://A_b/%7Ex#", "https://a_b:443", "/%7Ex", "/", "/%7Ex", "https://a_b/%7Ex"),
            ("http://a/x", "http://a:80", "/x", "/", "/x", "http://a/x"), ("ftp://a/x", "ftp://a:0", "/x", "/", "/x", "ftp://a/x"),
        ])
    func parts(text: String, origin: String, path: String, folder: String, target: String, normalized: String) throws {
        let parsed = ParsedURL(try #require(URL(string: text)))
        #expect("\(parsed.origin)" == origin)
        #expect([parsed.path, parsed.folder, parsed.target, parsed.normalized] == [path, folder, target, normalized])
    }
}
