import Foundation

/// The one way from a response to a value, whichever way the value is asked for: `dataRequest(decoding:)`, `TypedRequest`,
/// `ConnectionSpec`, polling.
struct ResponseReading<Value: Sendable>: Sendable {
    /// Judges the status, before the caller's validators.
    var status: (any ResponseValidator)?
    /// Judges the response by the caller's own rule, after the caller's validators.
    var rule: (any ResponseValidator)?
    /// True if the value is decoded from JSON: the request then asks for JSON, and another Content-Type is refused.
    var expectsJSON = false
    /// Returns true if the body of a response is to be decoded at all.
    var isDecoded: @Sendable (HTTPResponse) -> Bool = { _ in true }
    /// Turns a response that nobody refused into the value.
    var parse: @Sendable (HTTPResponse) throws -> Value
}

extension ResponseReading where Value: Decodable {
    /// Decodes the body as JSON, of a response with a 2xx status.
    static func json(_ type: Value.Type, with decoder: JSONDecoder?) -> ResponseReading {
        ResponseReading(status: StatusCodeValidator.success, expectsJSON: true) { try $0.parseJSONBody(type, with: decoder) }
    }
}

extension ResponseReading where Value == Void {
    /// Wants a 2xx status, and nothing of the body.
    static var nothing: ResponseReading { ResponseReading(status: StatusCodeValidator.success) { _ in } }
}

/// The type of an API's errors.
public typealias DecodableError = Decodable & Error

extension RequestBuilder {
    /// Sends the request and reads a value from the response.
    /// - Parameters:
    ///   - reading: How.
    ///   - errorType: The type of the API's errors; nil for the manager's.
    ///   - retryControl: The control that decides on further attempts; nil for the manager's, `.never` for none.
    ///   - decoder: The decoder of the API's errors; nil for the manager's.
    func valueRequest<Value: Sendable>(
        _ reading: ResponseReading<Value>, decodingErrors errorType: (any DecodableError.Type)?, with retryControl: (any RetryControl)?,
        using decoder: JSONDecoder? = nil
    ) -> RequestPromise<Value> {
        let errorType = errorType ?? sender.defaults.decodingErrors
        let checksJSON = checksContentType ?? sender.defaults.checksContentType
        var builder = self
        if let status = reading.status { builder.validators.insert(status, at: 0) }
        if let rule = reading.rule { builder.validators.append(rule) }
        if reading.expectsJSON || errorType != nil {
            builder = builder.accepting(errorType == nil ? "application/json" : "application/json, application/problem+json;q=0.9")
        }
        if reading.expectsJSON, checksJSON {
            builder.validators.append(JSONTypeValidator(value: "\(Value.self)", isDecoded: reading.isDecoded))
        }
        let parsed = ParsedValue(reading.parse)
        let sending = builder.prepared(.data, retryControl) { choices in
            choices.parse = { response in _ = try parsed.value(of: response) }
            choices.parseError = errorType.map { errorReader($0, checksJSON: checksJSON, decoder) }
        }
        return RequestPromise(sending, running: sender.running) { [sender] call in
            try await sender.perform(call)
        } value: { response in
            do {
                return try parsed.value(of: response)
            } catch {
                throw (try? sending.call.get())?.explain(error) ?? error
            }
        }
    }

    /// Asks for a type of content, unless the caller or the manager does.
    func accepting(_ types: String) -> RequestBuilder {
        if headers.contains(HeaderName.accept) || sender.defaults.hasAccept { return self }
        return with { $0.headers[HeaderName.accept] = types }
    }
}

/// Reads an API's own errors from responses.
/// - Parameters:
///   - type: The type of the errors.
///   - checksJSON: True if a body that says it is not JSON is not read.
///   - decoder: The decoder; nil for the manager's.
func errorReader<Failure: DecodableError>(
    _ type: Failure.Type, checksJSON: Bool, _ decoder: JSONDecoder?
) -> @Sendable (HTTPResponse) -> (any Error)? {
    { response in
        if response.body.isEmpty || (checksJSON && JSONTypeValidator(value: "\(type)").validate(for: response) != .valid) { return nil }
        return try? response.parseJSONBody(type, with: decoder)
    }
}

/// The value of a response, which is parsed once however often it is asked for: the observers' stage asks before the caller.
private final class ParsedValue<Value: Sendable>: Sendable {
    private let parse: @Sendable (HTTPResponse) throws -> Value
    private let known = Lock<(response: HTTPResponse, value: Value)?>(nil)

    init(_ parse: @escaping @Sendable (HTTPResponse) throws -> Value) { self.parse = parse }

    func value(of response: HTTPResponse) throws -> Value {
        // A loader outside of the observers' stage may have changed the response.
        if let known = known.withLock({ $0 }), known.response.isSame(as: response) { return known.value }
        let value = try parse(response)
        known.withLock { $0 = (response, value) }
        return value
    }
}

extension HTTPResponse {
    /// Returns true if a parser sees no difference.
    fileprivate func isSame(as other: HTTPResponse) -> Bool {
        statusCode == other.statusCode && headers == other.headers && body == other.body
    }
}
