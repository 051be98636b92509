import Foundation
import Testing

/// Verifies that the examples in doc comments compile.
@Suite(.inTurn) struct DocumentationTests {
    private static let file = URL(fileURLWithPath: #filePath)

    /// The root of the package: the nearest folder above with a manifest.
    private static let root: URL = {
        var folder = file
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            if FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path) { break }
        }
        return folder
    }()

    /// Returns the text of every Swift file below a folder of the package, by its path.
    private static func sources(in folder: String) throws -> [(path: String, text: String)] {
        let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .map { ($0.path, try String(contentsOf: $0, encoding: .utf8)) }
    }

    /// Returns code without its comments, with each run of white space replaced by one space.
    private static func normalised(_ code: String) -> String {
        let lines = code.split(separator: "\n").map { line in
            line.drop { $0 == " " }.hasPrefix("//") ? "" : line.components(separatedBy: " //")[0]
        }
        return lines.joined(separator: "\n").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Returns true if a text contains the parts of an example in their order. A comment that begins with `// …` separates two parts.
    private static func stands(_ example: String, in compiled: String) -> Bool {
        var lines: [[Substring]] = [[]]
        for line in example.split(separator: "\n") {
            if line.drop(while: { $0 == " " }).hasPrefix("// …") { lines.append([]) } else { lines[lines.count - 1].append(line) }
        }
        let parts = lines.map { normalised($0.joined(separator: "\n")) }.filter { !$0.isEmpty }
        var rest = compiled[...]
        for part in parts {
            guard let range = rest.range(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return !parts.isEmpty
    }

    /// Returns the blocks of code in the doc comments of a source file. A block of another language, such as `text`, is none.
    private static func examples(in source: String) -> [String] {
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map { $0.drop { $0 == " " } }
        let comments = lines.map { $0.hasPrefix("///") ? $0.dropFirst(3) : "\n" }.joined(separator: "\n")
        return comments.components(separatedBy: "```").enumerated().compactMap { position, block in
            guard position % 2 == 1 else { return nil }
            let language = block.prefix { !$0.isNewline }
            return language.isEmpty || language == "swift" ? String(block.dropFirst(language.count)) : nil
        }
    }

    @Test("every example in a doc comment stands in a file that the tests compile, word for word")
    func examplesCompile() throws {
        let compiled = try Self.sources(in: "Tests/NessHTTPTests").filter { $0.path.hasSuffix("Examples.swift") }
            .map { Self.normalised($0.text) }
        var count = 0
        for (path, text) in try Self.sources(in: "Sources") {
            for example in Self.examples(in: text) {
                #expect(compiled.contains { Self.stands(example, in: $0) }, "\(path): \(example)")
                count += 1
            }
        }
        #expect(count >= 50)
    }

    @Test("an example counts only if all of its code is compiled, in order, and not in a comment")
    func onlyCodeCounts() {
        #expect(Self.normalised("// let a = 1\nlet b = 2 // 2\n    // c\nlet url = \"http://x\"") == "let b = 2 let url = \"http://x\"")
        #expect(Self.stands("let a = 1\n// … wait …\nlet c = 3", in: "let a = 1 let b = 2 let c = 3"))
        #expect(!Self.stands("let c = 3\n// … wait …\nlet a = 1", in: "let a = 1 let b = 2 let c = 3"))
        #expect(!Self.stands("// let a = 1", in: "let a = 1"))
        #expect(Self.examples(in: "/// A.\n/// ```swift\n/// let a = 1\n/// ```\n/// B.\n/// ```\n/// let b = 2\n/// ```\n").count == 2)
        #expect(Self.examples(in: "/// ```text\n/// 3 passed\n/// ```\n").isEmpty)
    }
}
