import Foundation

/// Starting the request. Each call is a request of its own, and starts at once, whether or not anyone keeps the promise.
extension RequestBuilder {
    /// Sends the request and keeps the whole response in memory.
    ///
    /// Any status is a result, unless a validator refuses it.
    /// - Returns: A promise of the response. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func dataRequest() -> DataPromise {
        let request = Result { try build() }
        let tracker = RequestTracker()
        return DataPromise(tracker, request: try? request.get()) {
            DataResult(message: try await perform(request, validators, tracker))
        }
    }

    /// Sends the request and decodes the response as JSON. The status has to be 2xx, besides what the validators want.
    /// - Parameters:
    ///   - type: What to decode. An `Optional` is nil where the body is empty.
    ///   - decoder: What decodes it; it does so off the main thread.
    /// - Returns: A promise of the value. It fails with `NessError`, or with what a loader of the caller's threw.
    @discardableResult
    public func dataRequest<Value: Decodable & Sendable>(
        decoding type: Value.Type, with decoder: JSONDecoder = JSONDecoder()
    ) -> Promise<Value> {
        let request = Result { try build() }
        let tracker = RequestTracker()
        let parse = UncheckedDecoder(decoder)
        let promise = Promise<Value>(makeDropError: tracker.makeDropError(try? request.get()))
        promise.start {
            let response = try await perform(request, [StatusCodeValidator.success] + validators, tracker)
            if response.body.isEmpty, let nothing = (Value.self as? any ExpressibleByNilLiteral.Type)?.init(nilLiteral: ()) as? Value {
                return nothing
            }
            return try response.parseJSONBody(Value.self, with: parse.decoder)
        }
        return promise
    }

    private func perform(
        _ request: Result<HTTPRequest, any Error>, _ validators: [any ResponseValidator], _ tracker: RequestTracker
    ) async throws -> HTTPResponse {
        var request = try request.get()
        request.activity = tracker
        return try await ness.perform(request, validators: validators, tracker: tracker)
    }
}

/// A decoder is a class that nobody changes once it was handed over; Foundation does not say so everywhere.
private struct UncheckedDecoder: @unchecked Sendable {
    let decoder: JSONDecoder
    init(_ decoder: JSONDecoder) { self.decoder = decoder }
}
