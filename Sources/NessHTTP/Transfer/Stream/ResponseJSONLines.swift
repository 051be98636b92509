import Foundation

/// The JSON values of a streamed body, one in each line, as they arrive. The sequence can be read once. Leaving the loop ends the request.
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
            while let line = try await lines.next() {
                if line.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
                // The error contains the line and the request.
                let result = try await promise.value
                var response = result.message
                response.body = Data(line.utf8)
                do {
                    return try response.parseJSONBody(Value.self, with: decoder)
                } catch {
                    result.reading.drop(becauseOf: nil)
                    throw result.reading.call.explain(error)
                }
            }
            return nil
        }
    }
}
