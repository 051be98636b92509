/// Values that are decoded from a stream as they arrive: from server-sent events, or from lines of JSON.
///
/// Leaving the loop ends the request. Each loop sends it again.
public struct DecodedSequence<Value: Sendable>: AsyncSequence, Sendable {
    /// Reads the values.
    typealias Reader = () async throws -> Result<Value, any Error>?

    /// Starts reading.
    /// - Returns: The reader; and a closure that ends the request when the loop cannot use a value. It takes the error, and returns the
    ///   error to throw.
    let start: @Sendable () -> (read: Reader, fail: (any Error) async -> any Error)

    /// Starts reading, which sends the request.
    public func makeAsyncIterator() -> ResponseSequence<Value>.Iterator {
        let (read, fail) = start()
        return .init {
            switch try await read() {
            case .success(let value)?: return value
            case .failure(let error)?: throw await fail(error)
            case nil: return nil
            }
        }
    }

    /// The values as results: a value that cannot be decoded is a failure with `NessError.Kind.decoding`, and the iteration continues.
    ///
    /// ```swift
    /// for try await result in request.events(decoding: Chunk.self).results {
    ///     switch result {
    ///     case .success(let chunk): print(chunk.text, terminator: "")
    ///     case .failure(let error): print(error)
    ///     }
    /// }
    /// ```
    public var results: ResponseSequence<Result<Value, any Error>> { ResponseSequence { start().read } }
}
