import Foundation

/// The content of a request, with the header fields that describe it.
///
/// ```swift
/// let body = try HTTPBody.json(encoding: user)
/// ```
public struct HTTPBody: Sendable, Equatable {
    /// The bytes.
    public var data: Data
    /// What belongs to these bytes, such as `Content-Type`. A field that the request sets itself wins.
    public var headers: HTTPHeaders

    /// Makes a body.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - headers: What belongs to them.
    public init(_ data: Data, headers: HTTPHeaders = [:]) {
        self.data = data
        self.headers = headers
    }

    /// A text.
    /// - Parameters:
    ///   - text: The text.
    ///   - encoding: Its encoding.
    /// - Throws: `HTTPBodyError.notEncodable` where the encoding has no bytes for the text.
    public static func text(_ text: String, encoding: String.Encoding = .utf8) throws -> HTTPBody {
        guard let data = text.data(using: encoding) else {
            throw HTTPBodyError.notEncodable("the text can't be represented in the encoding \(encoding)")
        }
        let charset = encoding == .utf8 ? "; charset=utf-8" : ""
        return HTTPBody(data, headers: ["Content-Type": "text/plain\(charset)"])
    }

    /// A JSON value.
    /// - Parameter value: The value.
    /// - Throws: `EncodingError` for what JSON can't hold: a number that is not finite, or nesting too deep.
    public static func json(_ value: JSONValue) throws -> HTTPBody { HTTPBody(try value.encoded(), headers: jsonHeaders) }

    /// A value as JSON.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: What encodes it.
    /// - Throws: The encoder's error.
    public static func json(encoding value: some Encodable, with encoder: JSONEncoder = JSONEncoder()) throws -> HTTPBody {
        if let value = value as? JSONValue { return try json(value) }
        return HTTPBody(try encoder.encode(value), headers: jsonHeaders)
    }

    /// A form, as `application/x-www-form-urlencoded`.
    /// - Parameter form: Its fields.
    public static func form(_ form: URLQuery) -> HTTPBody {
        HTTPBody(Data(form.encoded.utf8), headers: ["Content-Type": "application/x-www-form-urlencoded"])
    }

    private static var jsonHeaders: HTTPHeaders { ["Content-Type": "application/json"] }
}

/// Why a body could not be made.
public enum HTTPBodyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The value has no representation in bytes, and why.
    case notEncodable(String)

    /// The reason.
    public var description: String {
        switch self {
        case .notEncodable(let reason): reason
        }
    }
}
