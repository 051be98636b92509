import Foundation
import Testing

/// Checks of the tables that compare Ness with other libraries.
@Suite(.inTurn) struct ComparedTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let root = folder.deletingLastPathComponent().deletingLastPathComponent()

    /// Returns code without white space and semicolons, which layout decides, and without lines that are comments.
    private static func bare(_ code: String) -> String {
        let lines = code.split(separator: "\n").filter { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("//") }
        return lines.joined().filter { !$0.isWhitespace && $0 != ";" }
    }

    /// Returns true if the pieces of code in the last column of a row stand in the sources, which were made bare.
    private static func stands(_ row: String, in sources: String) -> Bool {
        code(in: row).allSatisfy { !bare($0).isEmpty && sources.contains(bare($0)) }
    }

    /// Returns the rows of the tables of a page, without their heads.
    private static func rows(of page: String) -> [String] {
        let lines = page.components(separatedBy: "\n")
        return lines.indices.filter { index in
            let isHead = index + 1 < lines.count && lines[index + 1].hasPrefix("|---")
            return lines[index].hasPrefix("| ") && !isHead
        }.map { lines[$0] }
    }

    private static func cells(of row: String) -> [String] {
        row.dropFirst(2).dropLast(2).components(separatedBy: " | ")
    }

    /// Returns the pieces of code in the last column of a row.
    private static func code(in row: String) -> [String] {
        (cells(of: row).last ?? "").components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    @Test(
        "the code in the last column of every table is part of these sources, so it compiles",
        arguments: [
            ("Documentation/Compared.md", 75),
            ("Sources/NessHTTP/NessHTTP.docc/Migration/FromAlamofireAndAsyncHTTPClient.md", 60),
        ])
    func lastColumn(page: String, count: Int) throws {
        let text = try String(contentsOf: Self.root.appending(path: page), encoding: .utf8)
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        let sources = try files.filter { $0.lastPathComponent.hasSuffix("Examples.swift") }
            .map { Self.bare(try String(contentsOf: $0, encoding: .utf8)) }
        let rows = Self.rows(of: text)
        #expect(rows.count >= count)
        for row in rows { #expect(sources.contains { Self.stands(row, in: $0) }, "\(row)") }
    }

    @Test("a row passes only if all of its code is compiled, whatever its layout, and not in a comment")
    func onlyCompiledCodeCounts() {
        let sources = Self.bare("// .hidden()\n_ = ness.get(\"users\")\n    .set(body: data)\n")
        #expect(Self.stands("| a | `older()` | `ness.get(\"users\").set(body: data)`, in words |", in: sources))
        #expect(!Self.stands("| a | – | `ness.get(\"users\")`, `.set(form: data)` |", in: sources))
        #expect(!Self.stands("| a | – | `.hidden()` |", in: sources))
        #expect(Self.stands("| a | `older()` | – |", in: sources))
        #expect(Self.rows(of: "| task | Ness |\n|---|---|\n| a | b |\ntext\n| c | d |\n") == ["| a | b |", "| c | d |"])
    }

    @Test("every example is as long as its table says, and not longer than the other library's")
    func lineCounts() throws {
        let text = try String(contentsOf: Self.root.appending(path: "Documentation/Compared.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## Ten examples\n").dropFirst().first)
        let examples = section.components(separatedBy: "\n### ").dropFirst().map { example in
            let code = example.components(separatedBy: "```swift\n").dropFirst().first?.components(separatedBy: "\n```")[0] ?? ""
            return (title: example.components(separatedBy: "\n")[0], lines: code.split(separator: "\n"))
        }
        let rows = Self.rows(of: section).map(Self.cells)
        #expect(rows.count == 10)
        #expect(rows.map(\.[0]) == examples.map(\.title))
        for (row, example) in zip(rows, examples) {
            let ours = try #require(Int(row[row.count - 1])), theirs = try #require(Int(row[row.count - 2]))
            #expect(example.lines.count == ours && ours <= theirs, "\(example.title)")
            #expect(example.lines.allSatisfy { $0.count <= 110 }, "\(example.title)")
        }
    }
}
