import Foundation
import NessHTTP
import TestSupport
import Testing

/// Compares the tables of guides with the code.
@Suite(.inTurn(.withoutSockets)) struct GuideTests {
    private static let guides = URL(filePath: #filePath)
        .appending(path: "../../../../Sources/NessHTTP/NessHTTP.docc/Guides").standardizedFileURL

    /// Returns the text in the first column of the first table below a heading of a page.
    private static func names(on page: String, below heading: String) throws -> [String] {
        let text = try String(contentsOf: guides.appending(path: page), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
        let table = section.components(separatedBy: "\n").drop { !$0.hasPrefix("|---") }.dropFirst().prefix { $0.hasPrefix("| ") }
        return table.map { $0.components(separatedBy: " | ")[0].filter { !"|` ".contains($0) } }
    }

    @Test("the guide lists exactly the fields that a caller may not set") func reservedFields() throws {
        #expect(try Self.names(on: "BuildingARequest.md", below: "Header fields that Ness rejects") == OutgoingCheck.reservedNames)
    }
}
