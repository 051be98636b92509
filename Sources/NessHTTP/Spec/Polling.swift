/// The answers to one request that is made again and again: see `Ness.poll(_:every:endsOn:)`.
///
/// A request is made when an element is asked for, so that requests never overlap and nothing runs while nobody asks. Leaving the loop
/// ends it; cancelling its task also drops the request that runs. Each loop over it is a polling of its own.
public struct Polling<Element: Sendable>: AsyncSequence, Sendable {
    let ask: @Sendable () async throws -> Element
    let interval: Duration
    let clock: Timekeeper
    let endsOn: @Sendable (any Error) -> Bool

    /// Begins to poll.
    public func makeAsyncIterator() -> Iterator { Iterator(polling: self) }

    /// Asks for one element after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let polling: Polling
        private var lastAnswer: Duration?
        private var isDone = false

        init(polling: Polling) { self.polling = polling }

        /// The next answer: the first at once, each other when the interval since the last answer, or error, has passed.
        /// - Returns: The answer; nil once an error has been thrown.
        /// - Throws: The error that ends the polling; `CancellationError` when the task is cancelled.
        public mutating func next() async throws -> Element? {
            while !isDone {
                do {
                    if let lastAnswer { try await polling.wait(since: lastAnswer) }
                    defer { lastAnswer = polling.clock.elapsed() }
                    return try await polling.ask()
                } catch {
                    isDone = true
                    try Task.checkCancellation()
                    if polling.endsOn(error) { throw error }
                    isDone = false
                }
            }
            return nil
        }
    }

    private func wait(since last: Duration) async throws {
        let left = last + interval - clock.elapsed()
        if left > .zero { try await clock.sleep(left) }
        try Task.checkCancellation()
    }
}

extension Ness {
    /// Makes a request again and again.
    ///
    /// Network errors do not end it; a response that is refused or can't be decoded does, unless told otherwise.
    ///
    /// ```swift
    /// for try await status in ness.poll(GetStatus(), every: .seconds(5)) {
    ///     if status.isDone { break }
    /// }
    /// ```
    /// - Parameters:
    ///   - spec: The request.
    ///   - interval: The time between an answer and the next request, on the manager's clock; none is waited where it is not positive.
    ///   - errorType: The type of the API's errors, instead of the spec's.
    ///   - endsOn: Whether an error ends the polling, with that error. Runs off the main thread.
    /// - Returns: The answers.
    public func poll<Spec: ConnectionSpec>(
        _ spec: Spec, every interval: Duration, decodingErrors errorType: (any DecodableError.Type)? = nil,
        endsOn: @escaping @Sendable (any Error) -> Bool = Ness.endsPolling
    ) -> Polling<Spec.ResponseModel> {
        poll(every: interval, endsOn) { [self] in request(spec, decodingErrors: errorType) }
    }

    /// As `poll(_:every:endsOn:)`, for a typed request.
    /// - Parameters:
    ///   - request: The request.
    ///   - interval: The time between an answer and the next request, on the manager's clock; none is waited where it is not positive.
    ///   - errorType: The type of the API's errors, instead of the spec's.
    ///   - endsOn: Whether an error ends the polling, with that error. Runs off the main thread.
    /// - Returns: The answers.
    public func poll<Response: Sendable>(
        _ request: TypedRequest<Response>, every interval: Duration, decodingErrors errorType: (any DecodableError.Type)? = nil,
        endsOn: @escaping @Sendable (any Error) -> Bool = Ness.endsPolling
    ) -> Polling<Response> {
        poll(every: interval, endsOn) { [self] in self.request(request, decodingErrors: errorType) }
    }

    private func poll<Element: Sendable>(
        every interval: Duration, _ endsOn: @escaping @Sendable (any Error) -> Bool, _ send: @escaping @Sendable () -> Promise<Element>
    ) -> Polling<Element> {
        Polling(ask: { try await send().value }, interval: interval, clock: timekeeper, endsOn: endsOn)
    }

    /// Returns true for an error that ends a polling which says nothing else: every one that is not transient.
    @Sendable
    public static func endsPolling(_ error: any Error) -> Bool { (error as? NessError)?.isTransient != true }
}
