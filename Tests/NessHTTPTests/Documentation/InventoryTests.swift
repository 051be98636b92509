import Foundation
import TestSupport
import Testing

/// Compares the tables of Inventory.md with the codes that tests cover.
@Suite(.inTurn(.withoutSockets)) struct InventoryTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    private static let tests = root.appending(path: "Tests")

    /// The tables of Inventory.md, each with the beginning of its codes and their number.
    private static let tables = [
        ("ION-", 48), ("ERG-", 20), ("PMH-", 96), ("FLX-", 28), ("ABS-", 34), ("HIS-", 40),
        ("BI-", 31), ("BE-", 13), ("BP-", 27), ("BF-", 21), ("BA-", 19), ("BH-", 15), ("C", 22),
    ]

    /// One row of a table: a code, the suites that the row names, and whether it says that there is no test.
    private struct Row {
        let code: String
        let suites: Set<String>
        let isWithoutTest: Bool

        /// Returns nil if the line is no row of a table, or the head of one.
        init?(_ line: Substring) {
            guard line.hasPrefix("| "), line.hasSuffix(" |") else { return nil }
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            guard cells.count > 1, cells[0].last?.isNumber == true, let tests = cells.last else { return nil }
            code = cells[0]
            isWithoutTest = tests.hasPrefix("no test")
            let names = tests.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            suites = isWithoutTest ? [] : Set(names)
        }
    }

    private static func rows() throws -> [Row] {
        let text = try String(contentsOf: root.appending(path: "Documentation/Inventory.md"), encoding: .utf8)
        return text.split(separator: "\n").compactMap(Row.init)
    }

    /// Returns the suites that cover each code, by the names of their files.
    ///
    /// A test counts only if it is always enabled. A comment is no test.
    private static func covering() throws -> [String: Set<String>] {
        var suites: [String: Set<String>] = [:]
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        for file in files where file.pathExtension == "swift" {
            for code in codes(in: try String(contentsOf: file, encoding: .utf8)) {
                suites[code, default: []].insert(file.deletingPathExtension().lastPathComponent)
            }
        }
        return suites
    }

    /// Returns the codes that the enabled tests of a source file cover.
    private static func codes(in source: String) -> Set<String> {
        let code = source.split(separator: "\n").filter { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("//") }.joined(separator: "\n")
        func isEnabled(_ traits: String) -> Bool { !traits.contains(".disabled(") && !traits.contains(".enabled(") }
        // The attributes end where the function starts, and those of a suite where its type does.
        let suites = code.components(separatedBy: "@Suite(").dropFirst().map { $0.components(separatedBy: "struct ")[0] }
        guard suites.allSatisfy(isEnabled) else { return [] }
        let traits = code.components(separatedBy: "@Test(").dropFirst().map { $0.components(separatedBy: "func ")[0] }
        let lists = traits.filter(isEnabled).flatMap { $0.components(separatedBy: ".covers(").dropFirst() }
        return Set(
            lists.flatMap { list in
                list.components(separatedBy: ")")[0].components(separatedBy: "\"").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            })
    }

    @Test("Inventory.md has a row for every code", arguments: tables)
    func everyCodeHasARow(prefix: String, count: Int) throws {
        let numbers = try Self.rows().map(\.code).filter { $0.hasPrefix(prefix) }.compactMap { Int($0.dropFirst(prefix.count)) }
        #expect(numbers == Array(1...count))
    }

    @Test("each row of Inventory.md names exactly the suites whose enabled tests cover its code")
    func everyCodeHasItsTests() throws {
        let covering = try Self.covering()
        for row in try Self.rows() {
            #expect(row.suites == covering[row.code] ?? [], "\(row.code)")
            #expect(row.isWithoutTest || !row.suites.isEmpty, "\(row.code): no suite")
        }
    }

    @Test("a test names no code that Inventory.md lacks")
    func everyTestHasItsRows() throws {
        let unknown = Set(try Self.covering().keys).subtracting(try Self.rows().map(\.code))
        #expect(unknown.isEmpty, "\(unknown)")
    }

    @Test("a code counts as covered only if an enabled test names it")
    func onlyEnabledTestsCount() {
        let mark = "@Test"
        #expect(Self.codes(in: "\(mark)(\"a\", .covers(\"X-1\", \"X-2\"), arguments: [1]) func a() {}") == ["X-1", "X-2"])
        #expect(Self.codes(in: "\(mark)(\"a\", .covers(\"X-1\"), .disabled(\"later\")) func a() {}").isEmpty)
        #expect(Self.codes(in: "\(mark)(\"a\", .enabled(if: isLinux), .covers(\"X-1\")) func a() {}").isEmpty)
        #expect(Self.codes(in: "@Suite(.disabled()) struct A {\n\(mark)(\"a\", .covers(\"X-1\")) func a() {}").isEmpty)
        #expect(Self.codes(in: "// \(mark)(\"a\", .covers(\"X-1\")) func a() {}").isEmpty)
        #expect(Self.codes(in: "let covers = \".covers(X-1)\"").isEmpty)
    }
}
