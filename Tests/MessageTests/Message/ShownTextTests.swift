import Foundation
import TestSupport
import Testing

@testable import NessHTTP

/// The text of a body that descriptions show, and text that only resembles a secret.
@Suite(.inTurn(.withoutSockets)) struct ShownTextTests {
    @Test(
        "a body of which only the start is read is shown with an ellipsis, even if only white space follows",
        arguments: ["a", #"{"a":1}"#])
    func longWhiteSpace(start: String) {
        // A description reads 4 KiB, and 128 bytes of which the last may be a part of a secret.
        let longest = start + String(repeating: " ", count: 4_096 + 128 - start.utf8.count)
        #expect(Redactor().snippet(of: Data(longest.utf8), contentType: nil) == "\"\(start) \"")
        #expect(Redactor().snippet(of: Data("\(longest) ".utf8), contentType: nil) == "\"\(start) \u{2026}\"")
    }

    @Test("the first 100 characters of the content type stand for a body that is not shown")
    func longType() {
        let start = "text/" + String(repeating: "x", count: 95)
        let shown = Redactor().snippet(of: Data("token hunter2".utf8), contentType: "\(start)yyy")
        #expect(shown == "(\(start), 13 bytes, not shown)")
    }

    @Test(
        "text that begins with dashes or contains the header field of a part is shown: a form with parts has both",
        arguments: ["--- a: 1", "Content-Disposition: inline"])
    func noParts(text: String) { #expect(Redactor().snippet(of: Data(text.utf8), contentType: nil) == "\"\(text)\"") }

    @Test("a body without a declared type is a form with parts if its first KiB contains the header field of a part")
    func startOfParts() {
        let field = "\r\nContent-Disposition:"
        let body = Data("--\(String(repeating: "b", count: 1_024 - 2 - field.utf8.count))\(field)".utf8)
        #expect(Redactor.hasParts(body, nil))
        #expect(!Redactor.hasParts(Data(" ".utf8) + body, nil))
    }

    @Test(
        "a scheme and a credential of at least six characters are hidden, with any spaces; other text after a scheme is shown",
        arguments: [
            ("Bearer abc123", false), ("Bearer  abc123", false), (" Bearer abc123 ", false), ("Bearer token", true),
            ("Bearer of news", true),
        ])
    func credential(text: String, isShown: Bool) { #expect(Redactor().redacted(text: text) == (isShown ? text : "<redacted>")) }

    @Test(
        "a secret name with a colon in a path, such as token:revoke, is shown, and the value of a parameter in a path is hidden",
        arguments: [
            ("https://h.test/v1/token:revoke?a=1", "https://h.test/v1/token:revoke?a=1"),
            ("/x;token=hunter2/y", "/x;token=<redacted>/y"),
        ])
    func path(text: String, shown: String) { #expect(Redactor().redacted(urlText: text) == shown) }
}
