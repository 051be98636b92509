import NessHTTP
import TestSupport
import Testing

@Suite("Text that is compared by its bytes")
struct ExactTextTests {
    private static let composed = "caf\u{E9}", decomposed = "cafe\u{301}"

    @Test("canonically equal strings are different keys")
    func keys() {
        #expect(Self.composed == Self.decomposed)
        let table = [ExactText(Self.composed): 1, ExactText(Self.decomposed): 2]
        #expect(table[ExactText(Self.composed)] == 1)
        #expect(table[ExactText(Self.decomposed)] == 2)
        #expect(ExactText("") == ExactText(""))
        #expect(ExactText("a") != ExactText(""))
        #expect(ExactText("a\u{323}\u{307}") != ExactText("a\u{307}\u{323}"))
    }

    @Test("a substring equals the string of its bytes, and has its hash")
    func substrings() {
        let substring = "x\(Self.decomposed)y".dropFirst().dropLast()
        #expect(substring.isExactly(Self.decomposed))
        #expect(!substring.isExactly(Self.composed))
        #expect(Set([ExactText(String(substring)), ExactText(Self.decomposed)]).count == 1)
    }

    @Test("a combining mark after a prefix or a suffix does not hide it")
    func ends() {
        #expect(!"__Host-\u{301}a".hasPrefix("__Host-"))
        #expect("__Host-\u{301}a".startsExactly(with: "__Host-"))
        #expect(!"a".startsExactly(with: "ab"))
        #expect("a\r\n".endsExactly(with: "\n"))
        #expect(!"a\r\n".hasSuffix("\n"))
        #expect(!Self.composed.endsExactly(with: "e\u{301}"))
    }

    @Test("strings are ordered by their bytes")
    func order() {
        #expect(ExactText(Self.decomposed) < ExactText(Self.composed))
        #expect(ExactText("a") < ExactText("ab"))
    }
}
