import Foundation
import NessHTTP
import TestSupport
import Testing

@Suite(.inTurn(.withoutSockets)) struct URLQueryTests {
    private enum Order: String, QueryValue { case newest, oldest }

    // MARK: literals

    @Test("one literal takes literals and variables of every kind")
    func mixedLiteral() {
        let query: URLQuery = ["page": "1", "q": "cute cats", "n": 3, "x": 1.5, "ok": true, "filter": ["a": "b"], "tags": ["x", "y"]]
        #expect(query.encoded == "page=1&q=cute%20cats&n=3&x=1.5&ok=true&filter%5Ba%5D=b&tags=x&tags=y")

        let id = 7
        let name = "Fluffles"
        let present: String? = "yes"
        let absent: Int? = nil
        let numbers = [1, 2]
        let uuid = UUID()
        let variables: URLQuery = [
            "id": id, "name": name, "part": name.prefix(3), "text": "<\(name)>", "present": present, "absent": absent, "nil": nil,
            "numbers": numbers, "order": Order.newest, "uuid": uuid, "big": UInt64.max, "one": 1.0, "decimal": Decimal(3) / 2,
            "maybe": [1, nil, 3],
        ]
        let text = "id=7&name=Fluffles&part=Flu&text=%3CFluffles%3E&present=yes&numbers=1&numbers=2&order=newest&uuid=\(uuid)"
        #expect(variables.encoded == text + "&big=18446744073709551615&one=1.0&decimal=1.5&maybe=1&maybe=3")
        let optional: URLQuery? = ["verbose": "true"]
        #expect(optional?.encoded == "verbose=true" && ([:] as URLQuery).encoded == "")
    }

    @Test("mixed nested literals are written as a query or as JSON")
    func mixedNested() {
        let id = 7
        let query: URLQuery = [
            "filter": ["z": 1, "a": id, "deep": ["b": "c"]] as URLQuery, "list": [1, "x", nil, ["k": true]] as JSONValue,
        ]
        let names = ["filter[z]", "filter[a]", "filter[deep][b]", "list", "list", "list[k]"]
        #expect(query.items.map(\.name) == names)
        #expect(query.items.map(\.value) == ["1", "7", "c", "1", "x", "true"])
    }

    @Test(
        "dictionaries are written in the order of their keys; nested keys are in brackets, and a key's own brackets follow")
    func dictionaries() {
        let query: URLQuery = ["a": ["z": ["y": [1, 2]], "b": ["c": [3]]]]
        #expect(query.encoded == "a%5Bb%5D%5Bc%5D=3&a%5Bz%5D%5By%5D=1&a%5Bz%5D%5By%5D=2")
        #expect(URLQuery(["b": 1, "a": 2, "c": 3]).encoded == "a=2&b=1&c=3")
        let lists: [URLQuery] = [["a": ["b[]": [1, 2]]], ["a": ["b[]": [1, 2]] as JSONValue], ["a": ["b[]": [1, 2]] as URLQuery]]
        #expect(lists.map { $0.items.map(\.name) } == Array(repeating: ["a[b][]", "a[b][]"], count: 3))
    }

    // MARK: changing

    @Test("values are appended, and merged by their names")
    func changing() {
        var query: URLQuery = ["a": 1, "b": 2, "a": 3]
        query.append("y", named: "a")
        query.append(["z", "y"], named: "m")
        query.append(nil, named: "n")
        #expect(query.encoded == "a=1&b=2&a=3&a=y&m=z&m=y")
        #expect(query.merging(["a": 9, "e": 8]).encoded == "b=2&m=z&m=y&a=9&e=8")
    }

    // MARK: text

    @Test("everything but unreserved characters is percent-encoded, byte by byte, in upper case")
    func percentEncoding() {
        let unreserved = "ABCXYZabcxyz0189-._~"
        #expect(PercentEncoding.encode(unreserved) == unreserved)
        let ascii = String(decoding: UInt8(0)...UInt8(127), as: UTF8.self)
        let kept = PercentEncoding.encode(ascii).components(separatedBy: "%").map { $0.dropFirst(2) }.joined()
        #expect(kept == "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~")
        #expect(PercentEncoding.encode("é😀 +\u{0}") == "%C3%A9%F0%9F%98%80%20%2B%00")
        #expect(PercentEncoding.encode("e\u{301}") == "e%CC%81")
        #expect(PercentEncoding.encode("\r\n") == "%0D%0A")
    }

    @Test(
        "an existing query is read leniently, and nothing in it is lost",
        arguments: [
            ("", []), ("a", [("a", nil)]), ("a=", [("a", "")]), ("=b", [("", "b")]), ("a=b=c", [("a", "b=c")]),
            ("&&a=1&&b&", [("a", "1"), ("b", nil)]), ("a+b=c+d", [("a+b", "c+d")]), ("a%20b=%2B%26%3d", [("a b", "+&=")]),
            ("a=%", [("a", "%")]), ("a=%4", [("a", "%4")]), ("a=%zz%41", [("a", "%zzA")]), ("a=%FF", [("a", "%FF")]),
            ("a=%F0%9F%98%80", [("a", "😀")]), ("?a=1", [("?a", "1")]), ("a;b=1", [("a;b", "1")]),
        ] as [(String, [(String, String?)])])
    func parsing(text: String, expected: [(String, String?)]) {
        #expect(URLQuery(parsing: text).items == expected.map { URLQuery.Item(name: $0.0, value: $0.1) })
    }

    @Test("a written query reads back unchanged, for random names and values")
    func roundTrip() {
        var random = SeededGenerator(seed: 0x4E65_7373)
        for _ in 0..<2000 {
            let items = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                URLQuery.Item(name: random.text(), value: Bool.random(using: &random) ? random.text() : nil)
            }
            let query = URLQuery(items)
            let text = query.encoded
            #expect(text.utf8.allSatisfy { $0 < 128 && !" +#;?".utf8.contains($0) })
            let read = URLQuery(parsing: text)
            let expected = items.filter { !$0.name.isEmpty || $0.value != nil }
            #expect(read.items == expected)
            #expect(read.encoded == text)
        }
    }

    // MARK: joining a URL

    /// A URL as it was, what stands in front of the parameters, and what stands behind them.
    private static let places = [
        ("https://example.com", "https://example.com?", ""),
        ("https://example.com/p", "https://example.com/p?", ""),
        ("https://example.com/p?a=1", "https://example.com/p?a=1&", ""),
        ("https://example.com/p?a=%2B+%e9&b", "https://example.com/p?a=%2B+%e9&b&", ""),
        ("https://example.com/p?a=1&", "https://example.com/p?a=1&", ""),
        ("https://example.com/p?a=?", "https://example.com/p?a=?&", ""),
        ("https://example.com/p?", "https://example.com/p?", ""),
        ("https://example.com/p#top", "https://example.com/p?", "#top"),
        ("https://example.com/p?#top", "https://example.com/p?", "#top"),
        ("https://example.com/p?a=1#top?x=2&", "https://example.com/p?a=1&", "#top?x=2&"),
        ("https://example.com/p#", "https://example.com/p?", "#"),
        ("users/1", "users/1?", ""),
        ("/users?a=1#top", "/users?a=1&", "#top"),
        ("?a=1", "?a=1&", ""),
    ]

    private static let parameters: [(URLQuery, String)] = [
        (["page": "1"], "page=1"),
        (["z": 1, "a": 2, "z": 3], "z=1&a=2&z=3"),
        (["q": "a&b=c+d#e;f g"], "q=a%26b%3Dc%2Bd%23e%3Bf%20g"),
        (["&=": "é", "😀": "100%", "%20": "?/"], "%26%3D=%C3%A9&%F0%9F%98%80=100%25&%2520=%3F%2F"),
        (["a": ["b": "c"], "t": ["x", "y"], "e": ""], "a%5Bb%5D=c&t=x&t=y&e="),
        (URLQuery([URLQuery.Item(name: "flag", value: nil)]), "flag"),
    ]

    @Test(
        "parameters join a URL with no query, a query, a fragment, a trailing ?", arguments: places, parameters)
    func joining(place: (url: String, front: String, back: String), parameters: (query: URLQuery, text: String)) throws {
        let url = try #require(URL(string: place.url))
        let joined = try #require(url.appending(parameters.query))
        #expect(joined.absoluteString == place.front + parameters.text + place.back)
        let text = try #require(joined.query(percentEncoded: true))
        #expect(text.hasSuffix(parameters.text))
        #expect(Array(URLQuery(parsing: text).items.suffix(parameters.query.items.count)) == parameters.query.items)
    }

    @Test("no parameters leave a URL as it is, and joining twice encodes nothing twice")
    func joiningTwice() throws {
        let url = try #require(URL(string: "https://example.com/p?#f"))
        #expect(url.appending(URLQuery()) == url)
        let twice = url.appending(["a": "%"])?.appending(["b": "%25"])
        #expect(twice?.absoluteString == "https://example.com/p?a=%25&b=%2525#f")
    }

    @Test("a relative URL stays relative to its base, whose query is not lost to an empty reference")
    func joiningRelative() throws {
        let base = try #require(URL(string: "https://example.com/v1/?key=1"))
        let relative = try #require(URL(string: "users?a=1", relativeTo: base))
        let joined = try #require(relative.appending(["b": 2]))
        #expect(joined.relativeString == "users?a=1&b=2")
        #expect(joined.absoluteString == "https://example.com/v1/users?a=1&b=2")
        let fragment = try #require(URL(string: "#top", relativeTo: base))
        #expect(fragment.appending(["b": 2])?.absoluteString == "https://example.com/v1/?key=1&b=2#top")
    }
}

extension SeededGenerator {
    /// Up to eight characters, from those that matter to a query and from all of Unicode.
    fileprivate mutating func text() -> String {
        let special = Array("&=+#;?%/[] \u{0}\r\n~-aZ09éß漢😀\u{301}".unicodeScalars)
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...8, using: &self) {
            let any = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &self))
            let chosen = Bool.random(using: &self) ? special[Int.random(in: special.indices, using: &self)] : any
            if let chosen { scalars.append(chosen) }
        }
        return String(scalars)
    }
}
