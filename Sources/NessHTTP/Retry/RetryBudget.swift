/// The limit of a manager's retries, as a fraction of its recent requests. It keeps retries from multiplying the load during an outage.
/// A request that a loader sends again before it has a response counts as a retry.
public struct RetryBudget: Sendable, Hashable {
    /// The largest number of retries in a window, as a fraction of its requests: 0.2 is a fifth.
    public var ratio: Double
    /// The number of retries that a window allows however few requests it has.
    public var minimum: Int
    /// The length of the sliding window.
    public var window: Duration

    /// Makes a budget.
    /// - Parameters:
    ///   - ratio: The largest number of retries in a window, as a fraction of its requests.
    ///   - minimum: The number of retries that a window allows however few requests it has.
    ///   - window: The length of the sliding window.
    public init(ratio: Double = 0.2, minimum: Int = 100, window: Duration = .seconds(10)) {
        self.ratio = ratio
        self.minimum = minimum
        self.window = window
    }

    /// No limit: each retry that a policy decides on is made. Retries of many requests may then multiply the load during an outage.
    public static let unlimited = RetryBudget(ratio: 0, minimum: .max)
}
