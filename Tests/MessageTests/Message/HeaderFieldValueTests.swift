import NessHTTP
import TestSupport
import Testing

@Suite struct HeaderFieldValueTests {
    @Test(
        "a list is split at its commas, but not in a quoted string",
        arguments: [
            ("", []), (" , ,\t", []), ("a", ["a"]), (" a , b,,c ", ["a", "b", "c"]),
            (#"a="x,y";b , "c\",d" , e"#, [#"a="x,y";b"#, #""c\",d""#, "e"]),
            (#"W/"a,b", "c""#, [#"W/"a,b""#, #""c""#]), ("a,\u{301}b", ["a", "\u{301}b"]),
            // A quote without its end hides nothing.
            (#"private", no-store"#, [#"private""#, "no-store"]), (#"a", b\", c"#, [#"a""#, #"b\""#, "c"]),
        ] as [(String, [String])])
    func members(value: String, expected: [String]) {
        #expect(HeaderFieldValue.members(value) == expected)
    }

    @Test(
        "parameters have names in lower case and values without quotes",
        arguments: [
            ("a/b", []), ("a/b;", []), ("a/b; c", []), ("a/b; Charset=UTF-8", [["charset", "UTF-8"]]),
            (#"a; b="x;y" ; c = d;e="#, [["b", "x;y"], ["c", "d"], ["e", ""]]),
            (#"a; b="x\"y\\" z; c=d"#, [["b", #"x"y\"#], ["c", "d"]]),
            (#"a; b="x; c=d"#, [["b", "x; c=d"]]), ("a;;b=c;b=d", [["b", "c"], ["b", "d"]]), ("a;b=x=y", [["b", "x=y"]]),
            (#"a; b="x\"#, [["b", #"x\"#]]),
        ] as [(String, [[String]])])
    func parameters(value: String, expected: [[String]]) {
        #expect(HeaderFieldValue.parameters(value).map { [$0.name, $0.value] } == expected)
    }

    @Test(arguments: [("", ""), (" text/html ; charset=x", "text/html"), (";a=b", ""), ("Text/HTML", "Text/HTML")])
    func theFrontOfAValue(value: String, expected: String) {
        #expect(HeaderFieldValue.withoutParameters(value) == expected)
    }

    @Test(
        "a number is digits alone, and one that is too large is the largest",
        arguments: [
            ("0", 0), ("007", 7), ("9223372036854775807", .max), ("99999999999999999999999", .max), ("", nil), ("-1", nil), ("+1", nil),
            (" 1", nil),
            ("1.0", nil), ("0x1", nil), ("１", nil), ("1\u{301}", nil),
        ] as [(String, Int64?)])
    func numbers(text: String, expected: Int64?) {
        #expect(HeaderFieldValue.number(text) == expected)
    }

    @Test(
        "several equal lengths count as one (RFC 9110, 8.6)",
        arguments: [
            ("5", 5), ("5, 5", 5), ("5,5 ,5", 5), ("5, 6", nil), ("5, x", nil), ("", nil), (",", nil), ("-5", nil), ("5 5", nil),
            ("9223372036854775806", .max - 1), ("9223372036854775807", nil), ("99999999999999999999", nil),
            ("9223372036854775807, 9223372036854775807", nil),
        ] as [(String, Int64?)])
    func lengths(value: String, expected: Int64?) {
        #expect(HeaderFieldValue.length(value) == expected)
    }

    @Test(
        "a value that keeps its escapes can be quoted again",
        arguments: [
            (#""a\"b\\c""#, #"a\"b\\c"#), (#"a\b"#, #"a\\b"#), (#"a\"#, #"a\\"#), (#""a\"#, "a"), ("\"a", "a"), ("\"\"", ""),
            ("a\\\u{301}b", "a\\\\\u{301}b"),
        ])
    func escapes(value: String, expected: String) {
        func read(_ reader: inout HeaderFieldValue) -> String { reader.value(keepsEscapes: true) { $0 == HeaderFieldValue.comma } }
        var reader = HeaderFieldValue(value)
        #expect(read(&reader).isExactly(expected))
        var again = HeaderFieldValue("\"\(expected)\", x")
        #expect(read(&again) == expected)
        let isBeforeComma = again.take(HeaderFieldValue.comma)
        #expect(isBeforeComma)
    }

    @Test("a list of unclosed quotes is read in one pass") func hostile() {
        let value = "\"" + String(repeating: #"a\","#, count: 200_000)
        #expect(HeaderFieldValue.members(value).count == 200_000)
        #expect(HeaderFieldValue.parameters(String(repeating: #";a=""#, count: 100_000)).count <= 100_000)
    }
}
