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
