import Foundation

/// The JSON values of a streamed body, one a line, as they come. It can be read once; leaving the loop ends the request.
public struct ResponseJSONLines<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A value.
    public typealias Element = Value

    private let promise: StreamPromise
    private let decoder: JSONDecoder

    init(_ promise: StreamPromise, _ decoder: JSONDecoder) {
        self.promise = promise
        self.decoder = decoder
    }

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(promise: promise, lines: promise.lines.makeAsyncIterator(), decoder: decoder) }

    /// Reads the values.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let promise: StreamPromise
        fileprivate var lines: ResponseLines.Iterator
        fileprivate let decoder: JSONDecoder

        /// The next value; nil at the end.
        public mutating func next() async throws -> Value? {
            while let line = try await lines.next() {
                if line.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
                // The error shows the line and the request that it came for.
                var response = try await promise.value.message
                response.body = Data(line.utf8)
                return try response.parseJSONBody(Value.self, with: decoder)
            }
            return nil
        }
    }
}
