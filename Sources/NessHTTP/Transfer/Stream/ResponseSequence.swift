/// Values that arrive one after the other: the events of a stream, the responses of a poll.
///
/// Leaving the loop ends the request in flight. So does canceling the loop's task; the loop then throws `NessError.dropped`.
public struct ResponseSequence<Element: Sendable>: AsyncSequence, Sendable {
    private let start: @Sendable () -> () async throws -> Element?

    /// Makes a sequence.
    /// - Parameter start: Starts reading. The returned closure reads the next value. It returns `nil` at the end.
    init(_ start: @escaping @Sendable () -> () async throws -> Element?) { self.start = start }

    /// Makes a sequence that hides the type of another.
    init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element == Element {
        self.init {
            var iterator = base.makeAsyncIterator()
            return { try await iterator.next() }
        }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(read: start()) }

    /// Reads the values.
    public struct Iterator: AsyncIteratorProtocol {
        let read: () async throws -> Element?

        /// Returns the next value; `nil` at the end.
        /// - Throws: The error that ends the sequence, a `NessError` unless code of the application threw another.
        public func next() async throws -> Element? { try await read() }
    }
}
