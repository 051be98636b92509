/// The parameters of a URL's query or of an `application/x-www-form-urlencoded` body, in order.
///
/// ```swift
/// let query: URLQuery = [
///     "page": 1, "q": "cute cats", "tags": ["x", "y"], "filter": ["a": "b"],
///     "after": cursor,
/// ]
/// // page=1&q=cute%20cats&tags=x&tags=y&filter%5Ba%5D=b, if `cursor` is nil
/// let text = query.encoded
/// ```
///
/// `QueryValue` lists the types of values and their encoding. Names compare as a whole: `filter[a]` is a separate name, not a part of
/// `filter`. A description hides the values whose names stand for secrets.
public struct URLQuery: Sendable, Hashable {
    /// One parameter, without percent-encoding.
    public struct Item: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value. `nil` writes the name alone, without `=`; an empty value writes `name=`.
        public var value: String?

        /// Makes a parameter.
        /// - Parameters:
        ///   - name: The name, not percent-encoded.
        ///   - value: The value, not percent-encoded. `nil` for a name alone.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The parameters, in order.
    public var items: [Item]

    /// Makes a query from its parameters.
    /// - Parameter items: The parameters, in order.
    public init(_ items: [Item] = []) { self.items = items }

    /// Makes a query from a dictionary, sorted by name. The values may be of several types.
    /// - Parameter dictionary: Names and values. `nil` adds no parameter.
    public init(_ dictionary: [String: (any QueryValue)?]) {
        items = dictionary.sorted { $0.key < $1.key }.flatMap { $0.value?.queryItems(named: $0.key) ?? [] }
    }

    /// Adds a value at the end, even if the name already has one.
    /// - Parameters:
    ///   - value: The value. `nil` adds no parameter.
    ///   - name: The name.
    public mutating func append(_ value: (any QueryValue)?, named name: String) {
        guard let value else { return }
        items += value.queryItems(named: name)
    }

    /// Returns a copy of this query with every parameter of `other`, in place of existing parameters of the same name.
    /// - Parameter other: The query whose values are used.
    /// - Returns: The merged query.
    package func merging(_ other: URLQuery) -> URLQuery {
        let names = Set(other.items.map(\.name))
        return URLQuery(items.filter { !names.contains($0.name) } + other.items)
    }
}

extension URLQuery: ExpressibleByDictionaryLiteral {
    /// Makes a query from a literal, in its order. If a name occurs twice, both values are kept. A `nil` is left out.
    public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
        items = elements.flatMap { name, value in value?.queryItems(named: name) ?? [] }
    }
}

extension URLQuery: QueryValue {
    /// Returns the parameters under `name[own name]`, in order. `b[c]` becomes `a[b][c]` under the name `a`.
    /// - Parameter name: The outer name.
    /// - Returns: The parameters.
    public func queryItems(named name: String) -> [Item] {
        items.map { Item(name: Self.nested($0.name, in: name), value: $0.value) }
    }

    /// Makes the name of a parameter nested in another, as servers read it: `b[c]` in `a` is `a[b][c]`, and `b[]` is `a[b][]`.
    static func nested(_ own: String, in name: String) -> String {
        let bracket = own.utf8.firstIndex(of: UInt8(ascii: "[")) ?? own.endIndex
        return "\(name)[\(own[..<bracket])]\(own[bracket...])"
    }
}
