import Foundation

extension URLQuery {
    /// Reads an encoded query. Percent-encoding is undone, a `+` stays a `+`, pieces between `&` that are empty are left out.
    /// What is malformed is kept as it stands: a `%` without its digits, and a name or value whose bytes are not UTF-8.
    /// - Parameter query: What stands between `?` and `#`, without either.
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

    /// The query as it goes into a URL or, byte for byte the same, into an `application/x-www-form-urlencoded` body.
    /// Everything in names and values but RFC 3986's unreserved characters is percent-encoded, a space as `%20`. A parameter
    /// with neither name nor value is left out, since it could not be read back.
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

extension URLQuery: CustomStringConvertible, CustomReflectable {
    /// The encoded parameters in one line, without the values of those that are secret by `SecretNames`. `encoded` has them all.
    public var description: String { SecretNames().redacted(text: encoded, isQuery: true) }
    /// Only the description, so that dumping parameters shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["query": description]) }
}

extension URLQuery.Item: CustomStringConvertible, CustomReflectable {
    /// The encoded parameter, without its value if that is secret by `SecretNames`.
    public var description: String { URLQuery([self]).description }
    /// Only the description.
    public var customMirror: Mirror { Mirror(self, children: ["item": description]) }
}
