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

/// Measures several ways of doing one thing. They run in turn, round by round, so noise of the machine affects all of them.
/// - Parameters:
///   - rounds: The number of measurements of each contender. One more round comes first and does not count.
///   - contenders: The closures to measure. Each does the whole work of a round.
/// - Returns: The medians of each contender, in the order of the contenders.
public func medianCosts(rounds: Int, _ contenders: [() async throws -> Void]) async throws -> [Cost] {
    var costs: [[Cost]] = Array(repeating: [], count: contenders.count)
    for round in 0...rounds {
        for (index, contender) in contenders.enumerated() {
            let cost = try await Cost.measure(contender)
            if round > 0 { costs[index].append(cost) }
        }
    }
    return costs.map { all in
        Cost(seconds: median(all.map(\.seconds)), processorSeconds: median(all.map(\.processorSeconds)))
    }
}

/// The median of numbers; 0 for none.
public func median(_ numbers: [Double]) -> Double { numbers.isEmpty ? 0 : numbers.sorted()[numbers.count / 2] }

/// Says how a figure compares with its target.
public func verdict(_ value: Double, atLeast target: Double) -> String {
    "\(decimal(value)) (target: at least \(decimal(target))): \(value >= target ? "met" : "MISSED")"
}

/// Says how a figure compares with its target.
public func verdict(_ value: Double, atMost target: Double) -> String {
    "\(decimal(value)) (target: at most \(decimal(target))): \(value <= target ? "met" : "MISSED")"
}
