extension Ness.Configuration {
    /// A set of initial settings for one kind of program: see `Ness.init(_:_:)`.
    public struct Preset: Sendable {
        let apply: @Sendable (inout Ness.Configuration) -> Void

        /// The settings for servers, which send many requests to few hosts on behalf of many users.
        ///
        /// | setting | default | server |
        /// |---|---|---|
        /// | `maximumConnectionsPerHost` | 6 | 256 |
        /// | `duplicatedHandler` | equal GET, HEAD and OPTIONS requests share one exchange | `.requestAllSeparately` |
        /// | `retryControl` | none | `BackoffRetryControl(maxRetryCount: 2, maxDelay: .seconds(2))` |
        /// | `retryBudget` | a fifth of the requests in 10 s, at least 100 | a tenth of the requests in 10 s, at least 10 |
        /// | `cache`, `cookies` | none | none |
        ///
        /// The requests of different users share nothing but connections, and nothing is stored in memory or on disk.
        public static let server = Preset { configuration in
            configuration.maximumConnectionsPerHost = 256
            configuration.duplicatedHandler = DefaultDuplicatedHandler.requestAllSeparately
            configuration.retryControl = BackoffRetryControl(maxRetryCount: 2, maxDelay: .seconds(2))
            configuration.retryBudget = RetryBudget(ratio: 0.1, minimum: 10)
        }
    }
}

extension Ness {
    /// Makes a manager that starts from the settings of a preset.
    ///
    /// ```swift
    /// let ness = Ness(.server) {
    ///     $0.baseURL = URL(string: "http://users.internal/")
    ///     $0.maximumConcurrentRequests = 1_000
    /// }
    /// ```
    /// - Parameters:
    ///   - preset: The preset.
    ///   - configure: Changes the configuration. Runs during this call.
    public convenience init(_ preset: Configuration.Preset, _ configure: (inout Configuration) -> Void = { _ in }) {
        self.init { configuration in
            preset.apply(&configuration)
            configure(&configuration)
        }
    }
}
