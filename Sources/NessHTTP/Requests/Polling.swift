/// Sends one request repeatedly: see `Ness.poll(_:every:endsOn:)`.
struct Polling<Element: Sendable>: AsyncSequence, Sendable {
    let ask: @Sendable () async throws -> Element
    let interval: Duration
    let clock: PipelineClock
    let endsOn: @Sendable (any Error) -> Bool

    /// Makes an iterator that polls.
    func makeAsyncIterator() -> Iterator { Iterator(polling: self) }

    /// Sends one request for each element.
    struct Iterator: AsyncIteratorProtocol {
        let polling: Polling
        private var lastAnswer: Duration?
        private var isDone = false

        init(polling: Polling) { self.polling = polling }

        /// Returns the next response. The first request is sent immediately. Every other request is sent when the interval since the last
        /// response, or error, has passed.
        /// - Returns: The response; `nil` after an error was thrown.
        /// - Throws: The error that ends the polling; `NessError.dropped` if the task is canceled.
        mutating func next() async throws -> Element? {
            while !isDone {
                do {
                    if let lastAnswer { try await polling.wait(since: lastAnswer) }
                    defer { lastAnswer = polling.clock.elapsed() }
                    return try await polling.ask()
                } catch {
                    isDone = true
                    if Task.isCancelled { throw NessError.cancelled(error) }
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
