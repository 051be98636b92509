import Foundation
import Testing

/// Checks of the documentation against these sources.
@Suite(.inTurn) struct GuideTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let tests = folder.deletingLastPathComponent()
    private static let root = tests.deletingLastPathComponent()

    /// Returns the text with each run of white space replaced by one space.
    private static func normalised(_ text: some StringProtocol) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test(
        "every example in README.md and Migration.md is part of these sources, so it compiles",
        arguments: [("README.md", 6), ("Documentation/Migration.md", 30)])
    func examples(page: String, count: Int) throws {
        let text = try String(contentsOf: Self.root.appending(path: page), encoding: .utf8)
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        var sources = ""
        for file in files where ["Migration.swift", "Examples.swift"].contains(where: file.lastPathComponent.hasSuffix) {
            sources += Self.normalised(try String(contentsOf: file, encoding: .utf8)) + " "
        }
        let examples: [String] = text.components(separatedBy: "```swift\n").dropFirst().map { rest in
            let lines = rest.components(separatedBy: "\n```")[0].split(separator: "\n").filter { !$0.hasPrefix("import ") }
            return Self.normalised(lines.joined(separator: "\n"))
        }
        #expect(examples.count >= count)
        // A line of a package manifest is not code of this package.
        for example in examples where !example.hasPrefix(".package(") {
            #expect(!example.isEmpty && sources.contains(example), "\(example)")
        }
    }

    // MARK: the inventory

    /// The sections of Inventory.md whose implemented capabilities all name a test by its number.
    private static let sections = ["iONess", "Ergo", "PMHTTP", "FlexNetworking", "AbstractHTTP", "HTTP in Swift"]

    /// One row of a table: a number, the counterpart in Ness, and the suites that test it.
    private struct Row {
        let number: String
        let here: String
        let test: String

        init?(_ line: Substring) {
            let cells = line.components(separatedBy: " | ")
            guard cells.count == 3, line.hasPrefix("| "), line.hasSuffix(" |"), cells[0].contains("-") else { return nil }
            number = String(cells[0].dropFirst(2))
            here = cells[1]
            test = String(cells[2].dropLast(2))
        }

        /// True if the capability has no counterpart, so that no test is needed.
        var isNothing: Bool { test == "no test" && (here.contains("not there") || here.contains("does not apply")) }

        /// The names of the suites, which stand between backticks.
        var suites: [String] { test.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element) }
    }

    /// Returns the titles of all tests, by the name of their file without its extension.
    private static func displayNames() throws -> [String: [String]] {
        var names: [String: [String]] = [:]
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        for file in files where file.pathExtension == "swift" {
            for part in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "@Test(").dropFirst() {
                let rest = part.drop(while: \.isWhitespace), quote = rest.hasPrefix("\"\"\"") ? "\"\"\"" : "\""
                guard rest.hasPrefix(quote) else { continue }
                let name = rest.dropFirst(quote.count).components(separatedBy: quote)[0]
                names[file.deletingPathExtension().lastPathComponent, default: []].append(name)
            }
        }
        return names
    }

    @Test(
        "each suite that Inventory.md names for a capability has a test with the capability's number in its title",
        arguments: sections)
    func capabilities(section: String) throws {
        let document = try String(contentsOf: Self.root.appending(path: "Documentation/Inventory.md"), encoding: .utf8)
        let text = try #require(document.components(separatedBy: "\n## ").first { $0.hasPrefix(section + "\n") })
        let rows = text.components(separatedBy: "\n# ")[0].split(separator: "\n").compactMap(Row.init)
        #expect(rows.count >= 20 && rows.last?.number.hasSuffix("-\(rows.count)") == true, "every number has a row")
        let names = try Self.displayNames()
        for row in rows where !row.isNothing {
            #expect(!row.suites.isEmpty, "\(row.number): no suite")
            for suite in row.suites {
                let shows = names[suite]?.contains { $0.contains(row.number) }
                #expect(shows == true, "\(row.number) is in no name of \(suite)")
            }
        }
    }
}
