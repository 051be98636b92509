import Foundation

/// The JSON values of a streamed body, one in each line, as they arrive. Leaving the loop ends the request. The sequence
/// can be read once: a second loop gets only what the first has left.
public struct ResponseJSONLines<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// The running request: its status, its progress, and the head of its response.
    public let promise: StreamPromise
    private let validators: [any ResponseValidator]
    private let decoder: JSONDecoder?

    init(_ promise: StreamPromise, _ validators: [any ResponseValidator], _ decoder: JSONDecoder?) {
        self.promise = promise
        self.validators = validators
        self.decoder = decoder
    }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator {
        let (promise, validators) = (promise, validators)
        let chunks = ResponseChunks { try await promise.value.reading(acceptedBy: validators) }
        return Iterator(promise: promise, lines: ResponseLines(chunks).makeAsyncIterator(), decoder: decoder)
    }

    /// Reads the values.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let promise: StreamPromise
        fileprivate var lines: ResponseLines.Iterator
        fileprivate let decoder: JSONDecoder?

        /// Returns the next value. `nil` at the end.
        public mutating func next() async throws -> Value? {
            guard let result = try await nextResult() else { return nil }
            if case .failure = result { try await promise.value.reading.drop(becauseOf: nil) }
            return try result.get()
        }

        fileprivate mutating func nextResult() async throws -> Result<Value, any Error>? {
            while let line = try await lines.next() {
                if line.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
                // The error contains the line and the request.
                let result = try await promise.value
                var response = result.message
                response.body = Data(line.utf8)
                return Result { try response.parseJSONBody(Value.self, with: decoder) }.mapError { result.reading.call.explain($0) }
            }
            return nil
        }
    }

    /// The values as results: a line that cannot be decoded is a failure with `NessError.decoding`, and the iteration goes on.
    public var results: Results { Results(values: self) }

    /// The values as results: see `ResponseJSONLines.results`.
    public struct Results: AsyncSequence, Sendable {
        fileprivate let values: ResponseJSONLines

        /// Starts reading.
        public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator()) }

        /// Reads the results.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var values: ResponseJSONLines.Iterator

            /// Returns the next result. `nil` at the end.
            public mutating func next() async throws -> Result<Value, any Error>? { try await values.nextResult() }
        }
    }
}
