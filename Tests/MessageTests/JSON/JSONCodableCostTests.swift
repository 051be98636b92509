import Foundation
import NessHTTP
import TestSupport
import Testing

/// The work that a `JSONValue` within another `Codable` type takes, by counts.
@Suite(.inTurn(.withoutSockets)) struct JSONCodableCostTests {
    private static let depth = 80

    /// Returns containers around a value.
    private static func nest(_ value: JSONValue, _ depth: Int, _ around: (JSONValue) -> JSONValue) -> JSONValue {
        (0..<depth).reduce(value) { value, _ in around(value) }
    }

    private static let around: [@Sendable (JSONValue) -> JSONValue] = [{ [$0] }, { ["a": $0] }, { ["a": [$0]] }]

    @Test("a value that nests deeply costs a decoder no more wrong kinds than a flat one", arguments: around.indices)
    func deepChain(_ index: Int) throws {
        let value = Self.nest(1, Self.depth / 2, Self.around[index]), counts = CoderCounts()
        #expect(try JSONValue(from: CountingDecoder(value: value, counts: counts)) == value)
        #expect(counts.paths <= 2)
        // The first containers are not guessed, and the innermost number is another kind.
        #expect(counts.misses <= 20, "\(counts.misses)")
    }

    @Test(
        "many values at a great depth cost a decoder no more than beside each other",
        arguments: ["abcdef", 7, 1.5, ["a": "x"], [2, "y"]] as [JSONValue])
    func deepList(element: JSONValue) throws {
        func misses(_ depth: Int) throws -> (Int, Int) {
            let list = JSONValue.array(Array(repeating: element, count: 1_000))
            let value = Self.nest(list, depth, Self.around[0]), counts = CoderCounts()
            #expect(try JSONValue(from: CountingDecoder(value: value, counts: counts)) == value)
            return (counts.misses, counts.paths)
        }
        let flat = try misses(0), deep = try misses(Self.depth)
        #expect(deep.0 <= flat.0 + 20 && deep.1 <= 2, "\(flat) \(deep)")
    }

    @Test("an encoder makes its path once, however deep the value nests", arguments: around.indices)
    func encoding(_ index: Int) throws {
        let counts = CoderCounts()
        try Self.nest(1, Self.depth / 2, Self.around[index]).encode(to: CountingEncoder(counts: counts))
        #expect(counts.paths == 1)
    }

    @Test("a guess never changes what is read")
    func guesses() throws {
        let text = #"[[[[[[1,[2,["x",{"a":[[]]}]]],{"b":{"c":{"d":{"e":[{}]}}}}]]]]]"#
        let nested = try JSONValue(parsing: Data(text.utf8))
        #expect(try JSONDecoder().decode([JSONValue].self, from: Data("[\(text)]".utf8)) == [nested])
        #expect(try JSONDecoder().decode([JSONValue].self, from: JSONEncoder().encode([nested])) == [nested])
        let value: [JSONValue] = [["a": 1, "b": "1"], ["a": "1", "b": [true]]]
        #expect(try PropertyListDecoder().decode([JSONValue].self, from: PropertyListEncoder().encode(value)) == value)
    }
}
