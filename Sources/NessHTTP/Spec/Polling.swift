/// The answers to one request that is made again and again: see `Ness.poll(_:every:)`.
///
/// An element is asked for when the last one has been taken and the time since has passed, so that requests never overlap. Leaving the
/// loop ends it.
public struct Polling<Element: Sendable>: AsyncSequence, Sendable {
    let ask: @Sendable () async throws -> Element
    let pause: @Sendable () async throws -> Void
    let endsOn: @Sendable (any Error) -> Bool

    /// Begins to poll.
    public func makeAsyncIterator() -> Iterator { Iterator(polling: self) }

    /// Asks for one element after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let polling: Polling
        private var isFirst = true

        init(polling: Polling) { self.polling = polling }

        /// The next answer: the first at once, each other after the pause.
        /// - Throws: The error that ends the polling; `CancellationError` when the task is cancelled.
        public mutating func next() async throws -> Element? {
            while true {
                if !isFirst { try await polling.pause() }
                isFirst = false
                do {
                    return try await polling.ask()
                } catch {
                    try Task.checkCancellation()
                    if polling.endsOn(error) { throw error }
                }
            }
        }
    }
}

extension Ness {
    /// Makes a request again and again.
    ///
    /// Network errors do not end it; a response that is refused or can't be decoded does, unless told otherwise.
    /// - Parameters:
    ///   - spec: The request.
    ///   - interval: The time between an answer and the next request, on the manager's clock.
    ///   - endsOn: Whether an error ends the polling, with that error.
    /// - Returns: The answers.
    public func poll<Spec: ConnectionSpec>(
        _ spec: Spec, every interval: Duration, endsOn: @escaping @Sendable (any Error) -> Bool = Ness.endsPolling
    ) -> Polling<Spec.ResponseModel> {
        let clock = Timekeeper(configuration.clock)
        return Polling(ask: { [self] in try await request(spec).value }, pause: { try await clock.sleep(interval) }, endsOn: endsOn)
    }

    /// Whether an error ends a polling that was told nothing: all do but those of the network.
    @Sendable
    public static func endsPolling(_ error: any Error) -> Bool {
        switch error as? NessError {
        case .offline, .cannotConnect, .timedOut, .connectionLost, .truncated, .malformedResponse, .circuitOpen: false
        default: true
        }
    }
}
