import Foundation

extension URLQuery {
    /// Reads an encoded query. Percent-encoding is decoded, a `+` stays a `+`, and empty pieces between `&` are skipped. A malformed piece
    /// is kept unchanged: a `%` without its digits, and a name or value whose bytes are not UTF-8.
    /// - Parameter query: The text between `?` and `#`, without either.
    package init(parsing query: String) {
        items = query.utf8.split(separator: UInt8(ascii: "&")).map { piece in
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            let value = piece[equals...].dropFirst()
            let hasValue = equals < piece.endIndex
            return Item(
                name: PercentEncoding.decode(Substring(piece[..<equals])),
                value: hasValue ? PercentEncoding.decode(Substring(value)) : nil)
        }
    }

    /// The encoded query, as it is sent in a URL or in an `application/x-www-form-urlencoded` body. Both have the same bytes. In names and
    /// values all characters except the unreserved ones of RFC 3986 are percent-encoded, a space as `%20`. A parameter with neither name
    /// nor value is left out, because it could not be read back.
    public var encoded: String {
        var bytes: [UInt8] = []
        for item in items where !(item.name.isEmpty && item.value == nil) {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            PercentEncoding.append(item.name, to: &bytes)
            guard let value = item.value else { continue }
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.append(value, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTTPBody {
    /// Makes a body from a form, as `application/x-www-form-urlencoded`.
    /// - Parameter form: The fields.
    public static func form(_ form: URLQuery) -> HTTPBody {
        HTTPBody(Data(form.encoded.utf8), headers: [HeaderName.contentType: "application/x-www-form-urlencoded"])
    }
}

extension URLQuery: RedactedValue {
    /// The encoded parameters in one line, without the values that are secret by `Ness.Configuration.secretNames`. `encoded` has all
    /// values.
    package var redactedDescription: String { Redactor().redacted(query: encoded).oneLine }
}

extension URLQuery.Item: RedactedValue {
    /// The encoded parameter, without its value if the value is secret by `Ness.Configuration.secretNames`.
    package var redactedDescription: String { URLQuery([self]).description }
}
