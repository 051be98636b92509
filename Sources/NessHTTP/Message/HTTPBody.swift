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
        let charset = charsets[encoding].map { "; charset=\($0)" } ?? ""
        return HTTPBody(data, headers: ["Content-Type": "text/plain\(charset)"])
    }

    /// A JSON value.
    /// - Parameter value: The value.
    /// - Throws: `EncodingError` for what JSON can't hold: a number that is not finite, or nesting too deep.
    public static func json(_ value: JSONValue) throws -> HTTPBody { HTTPBody(try value.encoded(), headers: jsonHeaders) }

    /// A value as JSON.
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: What encodes it; nil for one that sorts keys, so that equal values are equal bytes, and leaves slashes as they are.
    /// - Throws: The encoder's error.
    public static func json(encoding value: some Encodable, with encoder: JSONEncoder? = nil) throws -> HTTPBody {
        if let value = value as? JSONValue { return try json(value) }
        let chosen = encoder ?? JSONEncoder()
        if encoder == nil { chosen.outputFormatting = [.sortedKeys, .withoutEscapingSlashes] }
        return HTTPBody(try chosen.encode(value), headers: jsonHeaders)
    }

    /// A form, as `application/x-www-form-urlencoded`.
    /// - Parameter form: Its fields.
    public static func form(_ form: URLQuery) -> HTTPBody {
        HTTPBody(Data(form.encoded.utf8), headers: ["Content-Type": "application/x-www-form-urlencoded"])
    }

    private static let charsets: [String.Encoding: String] = [
        .utf8: "utf-8", .ascii: "us-ascii", .isoLatin1: "iso-8859-1", .isoLatin2: "iso-8859-2", .windowsCP1250: "windows-1250",
        .windowsCP1251: "windows-1251", .windowsCP1252: "windows-1252", .utf16: "utf-16", .utf16BigEndian: "utf-16be",
        .utf16LittleEndian: "utf-16le", .utf32: "utf-32", .shiftJIS: "shift_jis", .japaneseEUC: "euc-jp",
    ]

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
