/// Values that arrive one after the other: the events of a stream, the responses of a poll.
///
/// Leaving the loop ends the request in flight. So does canceling the loop's task; the loop then throws `NessError.Kind.dropped`.
public struct ResponseSequence<Element: Sendable>: AsyncSequence, Sendable {
    private let start: @Sendable () -> () async throws -> Element?

    /// Makes a sequence.
    /// - Parameter start: Starts reading. The returned closure reads the next value. It returns `nil` at the end.
    init(_ start: @escaping @Sendable () -> () async throws -> Element?) { self.start = start }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(start()) }

    /// Reads the values.
    ///
    /// Copies of an iterator share their position. Several tasks may read from one iterator: each value goes to one of them, and a read
    /// waits for earlier reads. An actor can therefore keep an iterator, and read the next value in each call:
    ///
    /// ```swift
    /// actor Feed {
    ///     private let pages: Pages<[User]>.AsyncIterator
    ///     init(_ ness: Ness) {
    ///         let feed = ness.get("users")
    ///         pages = ness.pages(of: feed, decoding: [User].self, next: .linkHeader)
    ///             .makeAsyncIterator()
    ///     }
    ///     func more() async throws -> [User]? { try await pages.next() }
    /// }
    /// ```
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let reads: Reads

        init(_ read: @escaping () async throws -> Element?) { reads = Reads(read) }

        /// Returns the next value; `nil` at the end.
        /// - Throws: The error that ends the sequence, a `NessError` unless code of the application threw another. `NessError.Kind.dropped`
        ///   if the task is canceled while it waits for another read.
        public func next() async throws -> Element? { try await reads.next() }
    }

    /// Reads one value at a time. `@unchecked Sendable`: only the task that occupies the one slot of `turns` calls `read`.
    private final class Reads: @unchecked Sendable {
        private let read: () async throws -> Element?
        private let turns = Limiter<Int>(limit: 1)

        init(_ read: @escaping () async throws -> Element?) { self.read = read }

        func next() async throws -> Element? {
            let (turn, wait) = turns.enter(0)
            do { try await wait?.wait() } catch { throw NessError.cancelled(error) }
            defer { turns.leave(turn) }
            return try await read()
        }
    }
}
