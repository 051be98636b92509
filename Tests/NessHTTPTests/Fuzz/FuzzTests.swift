import Foundation
import TestSupport
import Testing

/// A short run of the fuzzer's targets, the same each time: the corpus, and inputs grown from it by a seeded generator.
@Suite(.inTurn(.withoutSockets)) struct FuzzTests {
    @Test("no input of the corpus, and no mutation of one, breaks a rule of its target", arguments: FuzzTarget.allCases)
    func replay(_ target: FuzzTarget) throws {
        let folder = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
            .appending(path: "Fuzz/Corpus/\(target.rawValue)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let corpus = try files.sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
        #expect(!corpus.isEmpty)
        for input in corpus { check(target, input) }
        var generator = SeededGenerator(seed: 42)
        for _ in 0..<200 {
            guard var input = corpus.randomElement(using: &generator) else { return }
            for _ in 0..<Int.random(in: 1...6, using: &generator) { mutate(&input, corpus, &generator) }
            check(target, input)
        }
    }

    private func check(_ target: FuzzTarget, _ input: [UInt8]) {
        target.run(input) { holds, property in
            if !holds { Issue.record("\(target): \(property): \(String(decoding: input, as: UTF8.self).debugDescription)") }
        }
    }

    private func mutate(_ input: inout [UInt8], _ corpus: [[UInt8]], _ generator: inout SeededGenerator) {
        let index = Int.random(in: 0...input.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: input.insert(.random(in: .min ... .max, using: &generator), at: index)
        case 1 where index < input.count: input.remove(at: index)
        case 2 where index < input.count: input[index] = "\r\n\0%=&;?#/\\\"'.:@ 9é".utf8.randomElement(using: &generator) ?? 0
        default: input.insert(contentsOf: (corpus.randomElement(using: &generator) ?? []).suffix(index), at: index)
        }
    }
}
