/// Measures several ways of doing one thing. They run in turn, round by round, so noise of the machine affects all of them.
/// - Parameters:
///   - rounds: The number of measurements of each contender.
///   - contenders: The names and the closures to measure. Each closure does the whole work of a round.
/// - Returns: The median duration of a round, by name.
public func medians(rounds: Int, _ contenders: [(name: String, body: () async throws -> Void)]) async throws -> [String: Duration] {
    var times: [String: [Duration]] = [:]
    for contender in contenders { try await contender.body() }
    for _ in 0..<rounds {
        for contender in contenders {
            let start = ContinuousClock.now
            try await contender.body()
            times[contender.name, default: []].append(ContinuousClock.now - start)
        }
    }
    return times.mapValues { $0.sorted()[$0.count / 2] }
}

/// A number with two decimals.
public func decimal(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
}
