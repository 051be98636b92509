import Foundation

/// The JSON values of a streamed body, one in each line, as they arrive. Leaving the loop ends the request. The sequence
/// can be read once: a second loop gets only what the first has left.
public struct ResponseJSONLines<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// The running request: its status, its progress, and the head of its response.
    public let promise: StreamPromise

    init(_ promise: StreamPromise) { self.promise = promise }

    /// Starts reading.
    public func makeAsyncIterator() -> ResponseSequence<Value>.Iterator {
        var reader = makeReader()
        return .init { [promise] in
            guard let result = try await reader.next() else { return nil }
            if case .failure(let error) = result { throw try await promise.value.reading.fail(error) }
            return try result.get()
        }
    }

    private func makeReader() -> Reader { Reader(promise: promise, lines: promise.responseLines.makeAsyncIterator()) }

    /// Reads and decodes the lines.
    private struct Reader {
        let promise: StreamPromise
        var lines: ResponseLines.Iterator

        mutating func next() async throws -> Result<Value, any Error>? {
            while let line = try await lines.next() {
                if line.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
                // The error contains the line and the request.
                let result = try await promise.value
                var response = result.message
                response.body = Data(line.utf8)
                return Result { try response.parseJSONBody(Value.self) }.mapError { result.reading.call.explain($0) }
            }
            return nil
        }
    }

    /// The values as results: a line that cannot be decoded is a failure with `NessError.decoding`, and the iteration continues.
    public var results: ResponseSequence<Result<Value, any Error>> {
        ResponseSequence {
            var reader = makeReader()
            return { try await reader.next() }
        }
    }
}
