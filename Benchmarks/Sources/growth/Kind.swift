import NessHTTP

/// A kind of work that meets many of something: requests that wait together, callers of one exchange, handlers, entries of a store.
struct Kind: Sendable {
    /// Work that can be done several times.
    struct Work: Sendable {
        /// The number of units that the cost is divided by.
        let units: Int
        let run: @Sendable () async throws -> Void
    }

    /// The title of the plot that the kind belongs to.
    let plot: String
    /// The unit of the work and what it meets.
    let name: String
    /// The numbers that are measured.
    var sizes = [10, 100, 1_000, 10_000]
    /// False if the work depends on the real clock, on which a profiler's run is too slow.
    var isCounted = true
    /// The most units of a round, for units that take long.
    var unitsOfRound = Int.max
    /// Prepares work that meets so many.
    let prepare: @Sendable (_ count: Int) async throws -> Work

    static let all = waiting + sharing + promises + stores
}

/// Makes a manager whose limits do not matter.
func manager(_ configure: (inout Ness.Configuration) -> Void) -> Ness {
    Ness {
        $0.maximumConnectionsPerHost = .max
        $0.timeout = .seconds(3_600)
        configure(&$0)
    }
}

/// Awaits responses.
func finish(_ promises: [DataPromise]) async throws {
    for promise in promises {
        let status = try await promise.value.message.statusCode
        precondition(status == 200)
    }
}

/// A transport that responds immediately, with a status that a closure chooses.
struct Immediate: Transport {
    var headers: HTTPHeaders = [:]
    var status: @Sendable (HTTPRequest) -> Int = { _ in 200 }

    func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await receive(.head(statusCode: status(request), headers: headers))
    }
}
