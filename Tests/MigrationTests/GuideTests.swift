import Foundation
import Testing

@Suite(.inTurn) struct GuideTests {
    /// Text with each run of white space as one space.
    private static func normalised(_ text: some StringProtocol) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test("every example in Migration.md stands in these sources, so it compiles")
    func examples() throws {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        let guide = try String(contentsOf: root.appending(path: "Documentation/Migration.md"), encoding: .utf8)
        let files = try FileManager.default.contentsOfDirectory(at: here, includingPropertiesForKeys: nil)
        var sources = ""
        for file in files where file.lastPathComponent.hasSuffix("Migration.swift") {
            sources += Self.normalised(try String(contentsOf: file, encoding: .utf8)) + " "
        }
        let examples: [String] = guide.components(separatedBy: "```swift\n").dropFirst().map { rest in
            Self.normalised(rest.components(separatedBy: "\n```")[0])
        }
        #expect(examples.count > 30)
        for example in examples { #expect(!example.isEmpty && sources.contains(example), "\(example)") }
    }
}
