import TestSupport
import Testing

@testable import NessHTTP

@Suite(.inTurn) struct HTTPHeadersTests {
    @Test("names compare without regard to case, values with it")
    func names() {
        let headers: HTTPHeaders = ["Content-Type": "Text/Plain"]
        #expect(headers["content-type"] == "Text/Plain")
        #expect(headers["CONTENT-TYPE"] == "Text/Plain")
        #expect(headers["content_type"] == nil)
        #expect(headers.contains("cONTENT-tYPE"))
        #expect(!headers.contains("content"))
    }

    @Test("only ASCII letters fold their case")
    func foldsASCIIOnly() {
        let headers: HTTPHeaders = ["X-@": "1", "X-Ä": "2", "K": "3"]
        #expect(headers["x-`"] == nil)
        #expect(headers["x-ä"] == nil)
        #expect(headers["\u{212A}"] == nil)
        #expect(headers["k"] == "3")
    }

    @Test("a name keeps all its values in order, joined when read by subscript")
    func severalValues() {
        var headers: HTTPHeaders = ["Accept": "a", "X": "1", "accept": "b"]
        headers.add("c", for: "ACCEPT")
        #expect(headers.values(for: "Accept") == ["a", "b", "c"])
        #expect(headers["accept"] == "a, b, c")
        #expect(headers.fields.map(\.name) == ["Accept", "X", "accept", "ACCEPT"])
    }

    @Test("setting by subscript replaces every value at the first one's place")
    func setting() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3", "C": "4"]
        headers["a"] = "9"
        #expect(headers.fields == [.init(name: "A", value: "9"), .init(name: "B", value: "2"), .init(name: "C", value: "4")])
        headers["D"] = "5"
        #expect(headers.fields.last == .init(name: "D", value: "5"))
        headers["b"] = nil
        #expect(headers.map(\.name) == ["A", "C", "D"])
    }

    @Test("removing takes every value of a name and no other")
    func removing() {
        var headers: HTTPHeaders = ["A": "1", "AB": "2", "a": "3"]
        headers.remove("A")
        #expect(headers.fields == [.init(name: "AB", value: "2")])
        headers.remove("absent")
        #expect(headers.count == 1)
    }

    @Test("merging replaces whole names and keeps the others")
    func merging() {
        let left: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        let merged = left.merging(["a": "4", "A": "5", "C": "6"])
        #expect(merged.values(for: "A") == ["4", "5"])
        #expect(merged["B"] == "2")
        #expect(merged["C"] == "6")
        #expect(merged.count == 4)
        #expect(left.count == 3)
    }

    @Test("header fields are a collection of field lines; those of a dictionary are in the order of the names")
    func collection() {
        let headers = HTTPHeaders(["B": "2", "C": "3", "A": "1"])
        #expect(headers.map(\.name) == ["A", "B", "C"] && headers.map(\.value) == ["1", "2", "3"])
        #expect(headers.count == 3 && headers[1].name == "B" && HTTPHeaders().isEmpty)
    }

    @Test("equality compares values and their order, but not the names' case or order")
    func equality() {
        let headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]
        #expect(headers == ["b": "2", "a": "1", "A": "3"])
        #expect(headers != ["A": "3", "B": "2", "a": "1"])
        #expect(headers != ["A": "1", "B": "2"])
        #expect(headers != ["A": "1", "B": "2", "C": "3"])
        #expect((["A": "x"] as HTTPHeaders) != ["A": "X"])
        #expect((["A": "1", "B": "2"] as HTTPHeaders) != ["A": "1", "A": "2"])
        #expect((["A": "1", "A": "2"] as HTTPHeaders) != ["A": "1", "B": "2"])
    }

    @Test("values and names that are canonically equal are different")
    func bytes() {
        let composed: HTTPHeaders = ["A": "caf\u{E9}"], decomposed: HTTPHeaders = ["A": "cafe\u{301}"]
        #expect(composed != decomposed)
        #expect(composed.first != decomposed.first)
    }

    @Test("removing many names removes all their fields, in any case")
    func many() {
        let count = 1_000
        var fields = HTTPHeaders(), connection = HTTPHeaders()
        for number in 0..<count { fields.add("1", for: "X\(number)") }
        connection.add((0..<count).map { "x\($0)" }.joined(separator: ","), for: "Connection")
        for field in fields { connection.add(field.value, for: field.name) }
        connection.add("kept", for: "X-Other")
        #expect(connection.withoutConnectionFields == ["X-Other": "kept"])
        var newer = HTTPHeaders()
        for field in fields { newer.add("2", for: field.name.lowercased()) }
        let merged = fields.merging(newer)
        #expect(merged.count == count && merged["X7"] == "2")
        #expect(fields == fields && fields != merged)
    }
}
