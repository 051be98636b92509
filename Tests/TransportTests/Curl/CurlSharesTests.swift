#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import NessHTTP

@Suite struct CurlSharesTests {
    private static let group = group(of: "http://one.test")
    private static let others = (0..<64).map { group(of: "http://other-\($0).test") }

    private static func group(of url: String, isStreamed: Bool = false) -> CurlShares.Group {
        let url = URL(string: url) ?? URL(fileURLWithPath: "/")
        return CurlShares.Group(origin: ParsedURL(url).origin, isStreamed: isStreamed)
    }

    @Test("exchanges up to an engine's share stay on one engine, the next ones get further engines, and beyond the shares all are even")
    func fillsShares() {
        let shares = CurlShares(engineCount: 3)
        let chosen = (0..<99).map { _ in shares.enter(Self.group, share: 8) }
        for start in [0, 8, 16] { #expect(Set(chosen[start..<(start + 8)]).count == 1) }
        #expect(Set(chosen.prefix(24)).count == 3)
        for index in 0..<3 { #expect(chosen.filter { $0 == index }.count == 33) }
    }

    @Test("an exchange goes to the first engine again once the exchanges before it have left")
    func returns() {
        let shares = CurlShares(engineCount: 4)
        let first = shares.enter(Self.group, share: 1)
        let second = shares.enter(Self.group, share: 1)
        shares.leave(Self.group, at: first)
        #expect(second != first)
        #expect(shares.enter(Self.group, share: 1) == first)
    }

    @Test("origins start at different engines, and do not take each other's shares")
    func origins() {
        let shares = CurlShares(engineCount: 4)
        let first = Self.others.map { shares.enter($0, share: 1) }
        for start in stride(from: 0, to: 64, by: 4) { #expect(Set(first[start..<(start + 4)]) == [0, 1, 2, 3]) }
        for (origin, index) in zip(Self.others, first) { #expect(shares.enter(origin, share: 2) == index) }
    }

    @Test("downloads and streams of an origin start at another engine than its other exchanges, and count apart")
    func streams() {
        let shares = CurlShares(engineCount: 2)
        for number in 0..<16 {
            let url = "http://one-\(number).test"
            let first = shares.enter(Self.group(of: url), share: 2)
            let streamed = (0..<2).map { _ in shares.enter(Self.group(of: url, isStreamed: true), share: 2) }
            #expect(streamed == [1 - first, 1 - first])
            #expect(shares.enter(Self.group(of: url), share: 2) == first)
        }
    }

    @Test("the engines' largest numbers of exchanges together never exceed the largest number in flight", arguments: 0..<20)
    func bound(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let count = Int.random(in: 2...8, using: &generator), share = Int.random(in: 1...10, using: &generator)
        let limit = Int.random(in: 1...100, using: &generator)
        let shares = CurlShares(engineCount: count)
        var inFlight: [Int] = [], largest = [Int](repeating: 0, count: count), most = 0
        for _ in 0..<3_000 {
            if inFlight.count < limit, Bool.random(using: &generator) || inFlight.isEmpty {
                inFlight.append(shares.enter(Self.group, share: share))
            } else {
                // Often those of one engine leave together, as when a server has answered them all.
                inFlight.shuffle(using: &generator)
                for _ in 0..<Int.random(in: 1...inFlight.count, using: &generator) {
                    shares.leave(Self.group, at: inFlight.removeLast())
                }
            }
            most = max(most, inFlight.count)
            for index in 0..<count { largest[index] = max(largest[index], inFlight.filter { $0 == index }.count) }
        }
        #expect(largest.reduce(0, +) <= most)
    }

    @Test("of very many origins, those without exchanges are forgotten") func forgetting() {
        let shares = CurlShares(engineCount: 2)
        let busy = shares.enter(Self.group, share: 1)
        for number in 0..<5_000 {
            let group = Self.group(of: "http://host\(number).test/")
            shares.leave(group, at: shares.enter(group, share: 1))
        }
        #expect(shares.groupCount < 2_000)
        // What is in flight still counts.
        #expect(shares.enter(Self.group, share: 1) != busy)
    }
}
#endif
