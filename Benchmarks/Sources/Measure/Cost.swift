import Foundation

/// The duration of some work, and the processor time of all threads of this process meanwhile.
public struct Cost: Sendable {
    /// The duration in seconds.
    public var seconds: Double
    /// The processor time in seconds.
    public var processorSeconds: Double

    /// Measures a closure.
    public static func measure(_ body: () async throws -> Void) async throws -> Cost {
        let (start, processorStart) = (ContinuousClock.now, clock())
        try await body()
        let processorTime = Double(clock() - processorStart) / Double(CLOCKS_PER_SEC)
        return Cost(seconds: (ContinuousClock.now - start) / .seconds(1), processorSeconds: processorTime)
    }

    /// The processor time as a share of one core, in percent.
    public var load: Double { processorSeconds / seconds * 100 }
}

/// The costs of several ways of doing one thing, by name and round.
public struct Rounds: Sendable {
    private var costs: [String: [Cost]] = [:]

    /// Measures several ways of doing one thing. They run in turn, round by round, so noise of the machine affects all of them.
    /// - Parameters:
    ///   - count: The number of measurements of each contender. A warm-up round runs first and does not count.
    ///   - contenders: The names and the closures to measure. Each closure does the whole work of a round.
    public static func measure(_ count: Int, _ contenders: [(name: String, body: () async throws -> Void)]) async throws -> Rounds {
        var rounds = Rounds()
        for round in 0...count {
            for contender in contenders {
                let cost = try await Cost.measure(contender.body)
                if round > 0 { rounds.costs[contender.name, default: []].append(cost) }
                showProgress(".")
            }
        }
        showProgress("\n")
        return rounds
    }

    /// The costs of a contender, one for each round.
    public subscript(name: String) -> [Cost] {
        guard let all = costs[name] else { preconditionFailure("no contender is called \(name)") }
        return all
    }

    /// Returns the number of pieces of work a second, one for each round.
    public func rates(_ name: String, of count: Int) -> [Double] { self[name].map { Double(count) / $0.seconds } }

    /// Returns a contender's time for each of so many pieces of work, in microseconds: one for each round.
    public func micros(_ name: String, per count: Int, of part: KeyPath<Cost, Double> = \.seconds) -> [Double] {
        self[name].map { $0[keyPath: part] * 1e6 / Double(count) }
    }
}

/// A Boolean value that is true if the environment variable NESS_QUICK is set. Programs then measure fewer rounds.
public let isQuick = ProcessInfo.processInfo.environment["NESS_QUICK"] != nil

/// Returns the number of rounds: at most three in a quick run.
public func rounds(_ usual: Int) -> Int { isQuick ? min(usual, 3) : usual }

/// The median of numbers; 0 for none.
public func median(_ numbers: [Double]) -> Double { numbers.isEmpty ? 0 : numbers.sorted()[numbers.count / 2] }

/// Writes a sign of progress on standard error.
public func showProgress(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
