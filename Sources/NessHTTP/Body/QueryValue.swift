import Foundation

/// A value that a `URLQuery` can contain. Strings, numbers, Booleans, dates and UUIDs conform; optionals, arrays and dictionaries of these;
/// `URLQuery` itself; and an enum with such a raw value, once declared: `enum Sort: String, QueryValue`. `URLQuery(encoding:with:)` takes
/// any `Encodable` type.
///
/// | value | written under the name `a` |
/// |---|---|
/// | a string, a number, a Boolean | `a=x`, with the `description` of the value: `3`, `1.0`, `true` |
/// | a `Date` | `a=2026-01-31T12:00:00Z`, ISO 8601 in UTC with whole seconds, the colons percent-encoded |
/// | `nil` | no item |
/// | an array | one item per element, `a=x&a=y`; no item if it is empty |
/// | a dictionary, in the order of its keys | `a[b]=x`, the brackets percent-encoded |
/// | a `URLQuery`, in its own order | `a[b]=x` |
///
/// In a query literal, an array or dictionary literal needs a type annotation if its values have different types:
/// `["a": 1, "b": "x"] as URLQuery`, `[1, "x"] as JSONValue`.
public protocol QueryValue: Sendable {
    /// Returns the query items for this value.
    /// - Parameter name: The name of the parameter.
    /// - Returns: The items. Neither names nor values are percent-encoded.
    func queryItems(named name: String) -> [URLQuery.Item]
}

extension QueryValue where Self: LosslessStringConvertible {
    /// Returns one item, with the value's `description`.
    /// - Parameter name: The name of the item.
    public func queryItems(named name: String) -> [URLQuery.Item] { [URLQuery.Item(name: name, value: description)] }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    /// Returns the items of the raw value.
    /// - Parameter name: The name of the parameter.
    public func queryItems(named name: String) -> [URLQuery.Item] { rawValue.queryItems(named: name) }
}

extension String: QueryValue {}
extension Substring: QueryValue {}
extension Bool: QueryValue {}
extension Int: QueryValue {}
extension Int8: QueryValue {}
extension Int16: QueryValue {}
extension Int32: QueryValue {}
extension Int64: QueryValue {}
extension UInt: QueryValue {}
extension UInt8: QueryValue {}
extension UInt16: QueryValue {}
extension UInt32: QueryValue {}
extension UInt64: QueryValue {}
extension Double: QueryValue {}
extension Float: QueryValue {}

extension Decimal: QueryValue {
    /// Returns one item, with a decimal point in every locale.
    /// - Parameter name: The name of the item.
    public func queryItems(named name: String) -> [URLQuery.Item] { description.queryItems(named: name) }
}

extension UUID: QueryValue {
    /// Returns one item, in upper-case letters.
    /// - Parameter name: The name of the item.
    public func queryItems(named name: String) -> [URLQuery.Item] { uuidString.queryItems(named: name) }
}

extension Date: QueryValue {
    /// Returns one item, in the form of ISO 8601, in UTC and with whole seconds. For any other form, pass its text. ISO 8601 has the years
    /// 0 to 9999: any other date becomes its seconds since 1970.
    /// - Parameter name: The name of the item.
    public func queryItems(named name: String) -> [URLQuery.Item] {
        (isInISO8601 ? formatted(.iso8601) : "\(timeIntervalSince1970)").queryItems(named: name)
    }

    /// True for a date in the years 0 to 9999.
    var isInISO8601: Bool { Range<Double>(uncheckedBounds: (-62_167_219_200, 253_402_300_800)).contains(timeIntervalSince1970) }
}

extension Optional: QueryValue where Wrapped: QueryValue {
    /// Returns the items of the value; none for `nil`.
    /// - Parameter name: The name of the parameter.
    public func queryItems(named name: String) -> [URLQuery.Item] { self?.queryItems(named: name) ?? [] }
}

extension Array: QueryValue where Element: QueryValue {
    /// Returns the items of every element, all with the same name.
    /// - Parameter name: The name of the parameter.
    public func queryItems(named name: String) -> [URLQuery.Item] { flatMap { $0.queryItems(named: name) } }
}

extension Dictionary: QueryValue where Key == String, Value: QueryValue {
    /// Returns the items of every value with the name `name[key]`, in the order of the keys. A key's own brackets stay after it: `key[]`
    /// becomes `name[key][]`.
    /// - Parameter name: The name of the parameter.
    public func queryItems(named name: String) -> [URLQuery.Item] {
        sorted { $0.key < $1.key }.flatMap { $0.value.queryItems(named: URLQuery.nested($0.key, in: name)) }
    }
}

extension JSONValue: QueryValue {
    /// Returns the items of the equivalent Swift value: none for null, one name for all elements of an array, `name[key]` for an object.
    /// - Parameter name: The name of the parameter.
    public func queryItems(named name: String) -> [URLQuery.Item] {
        switch self {
        case .null: []
        case .bool(let value): value.queryItems(named: name)
        case .integer(let value): value.queryItems(named: name)
        case .unsigned(let value): value.queryItems(named: name)
        case .number(let value): value.queryItems(named: name)
        case .string(let value): value.queryItems(named: name)
        case .array(let value): value.queryItems(named: name)
        case .object(let value): value.queryItems(named: name)
        }
    }
}
