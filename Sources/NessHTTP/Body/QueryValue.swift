import Foundation

/// A value that can stand in a `URLQuery`: text, numbers, booleans, UUIDs, enums with such raw values; optionals, arrays and
/// dictionaries of these; another `URLQuery`.
///
/// | value | written under the name `a` |
/// |---|---|
/// | text, a number, a boolean | `a=x`, as Swift describes it: `3`, `1.0`, `true` |
/// | nil | nothing |
/// | an array | one item an element, `a=x&a=y`; nothing where it is empty |
/// | a dictionary, in the order of its keys | `a[b]=x`, the brackets percent-encoded |
/// | a `URLQuery`, in its own order | `a[b]=x` |
///
/// An array or dictionary literal of one type of values stands in a query literal as it is. One of mixed types needs a name for
/// what it is: `["a": 1, "b": "x"] as URLQuery`, `[1, "x"] as JSONValue`.
public protocol QueryValue: Sendable {
    /// The items that this value stands for.
    /// - Parameter name: The name it was given.
    /// - Returns: The items, neither name nor value percent-encoded.
    func queryItems(named name: String) -> [URLQuery.Item]
}

extension QueryValue where Self: LosslessStringConvertible {
    /// One item, the value as Swift describes it.
    /// - Parameter name: The name of the item.
    public func queryItems(named name: String) -> [URLQuery.Item] { [URLQuery.Item(name: name, value: description)] }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    /// The items of the raw value.
    /// - Parameter name: The name it was given.
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
    /// One item, with a point whatever the locale.
    /// - Parameter name: The name of the item.
    public func queryItems(named name: String) -> [URLQuery.Item] { description.queryItems(named: name) }
}

extension UUID: QueryValue {
    /// One item, in upper-case letters.
    /// - Parameter name: The name of the item.
    public func queryItems(named name: String) -> [URLQuery.Item] { uuidString.queryItems(named: name) }
}

extension Optional: QueryValue where Wrapped: QueryValue {
    /// The items of the value, none for nil.
    /// - Parameter name: The name it was given.
    public func queryItems(named name: String) -> [URLQuery.Item] { self?.queryItems(named: name) ?? [] }
}

extension Array: QueryValue where Element: QueryValue {
    /// The items of every element, all under the same name.
    /// - Parameter name: The name it was given.
    public func queryItems(named name: String) -> [URLQuery.Item] { flatMap { $0.queryItems(named: name) } }
}

extension Dictionary: QueryValue where Key == String, Value: QueryValue {
    /// The items of every value under `name[key]`, in the order of the keys; brackets that a key has itself stand behind: `name[key][]`.
    /// - Parameter name: The name it was given.
    public func queryItems(named name: String) -> [URLQuery.Item] {
        sorted { $0.key < $1.key }.flatMap { $0.value.queryItems(named: URLQuery.nested($0.key, in: name)) }
    }
}

extension JSONValue: QueryValue {
    /// What the Swift value of the same shape gives: nothing for null, repeated names for an array, `name[key]` for an object.
    /// - Parameter name: The name it was given.
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
