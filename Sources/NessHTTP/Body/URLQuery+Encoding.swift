import Foundation

extension URLQuery {
    /// The rules by which a value becomes parameters. The defaults suit most servers.
    ///
    /// ```swift
    /// let rules = URLQuery.EncodingRules(
    ///     dates: .secondsSince1970, keys: .convertToSnakeCase, arrays: .brackets,
    ///     booleans: .number)
    /// let request = ness.get("cats").set(urlEncodable: filter, with: rules)
    /// ```
    public struct EncodingRules: Sendable {
        /// The names of an array's elements.
        public enum Arrays: Sendable, Hashable {
            /// All elements have the array's name: `a=x&a=y`.
            case plain
            /// An empty pair of brackets follows the name: `a[]=x&a[]=y`.
            case brackets
            /// The index follows the name: `a[0]=x&a[1]=y`.
            case indices
        }

        /// The text of a Boolean value.
        public enum Booleans: Sendable, Hashable {
            /// `true` and `false`.
            case text
            /// `1` and `0`.
            case number
        }

        /// The form of a date. The default is ISO 8601 in UTC with whole seconds: `2026-01-31T12:00:00Z`.
        public var dates: JSONEncoder.DateEncodingStrategy
        /// The form of bytes. The default is Base64.
        public var data: JSONEncoder.DataEncodingStrategy
        /// The form of the names. It changes the names of properties, but not the keys of dictionaries.
        public var keys: JSONEncoder.KeyEncodingStrategy
        /// The names of an array's elements.
        public var arrays: Arrays
        /// The text of a Boolean value.
        public var booleans: Booleans

        /// Makes rules.
        /// - Parameters:
        ///   - dates: The form of a date.
        ///   - data: The form of bytes.
        ///   - keys: The form of the names.
        ///   - arrays: The names of an array's elements.
        ///   - booleans: The text of a Boolean value.
        public init(
            dates: JSONEncoder.DateEncodingStrategy = .iso8601, data: JSONEncoder.DataEncodingStrategy = .base64,
            keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys, arrays: Arrays = .plain, booleans: Booleans = .text
        ) {
            self.dates = dates
            self.data = data
            self.keys = keys
            self.arrays = arrays
            self.booleans = booleans
        }
    }

    /// Makes a query from a value whose type conforms to `Encodable`.
    ///
    /// Each property is a parameter. The parameters are sorted by name, so equal values give equal queries. A property that is `nil` and an
    /// empty array give none. A property inside another has the name `outer[inner]`. Numbers have the digits that JSON has: `1` for `1.0`.
    ///
    /// ```swift
    /// struct Filter: Encodable {
    ///     var tags: [String]
    ///     var since: Date
    ///     var cursor: String?
    /// }
    ///
    /// let filter = Filter(tags: ["a", "b"], since: date)
    /// let query = try URLQuery(encoding: filter)
    /// // since=2026-01-31T12%3A00%3A00Z&tags=a&tags=b
    /// ```
    /// - Parameters:
    ///   - value: A structure, a class or a dictionary. `nil` gives an empty query.
    ///   - rules: The rules for dates, bytes, names, arrays and Booleans.
    /// - Throws: `EncodingError` if the value has no names, such as an array or a number, contains a number that is not finite or a date
    ///   beyond the year 9999, or nests deeper than 256 levels; or the error that the value or a rule threw.
    public init(encoding value: some Encodable, with rules: EncodingRules = EncodingRules()) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = rules.dates
        if case .iso8601 = rules.dates {
            // Foundation would write another date in place of one that this form does not have.
            encoder.dateEncodingStrategy = .custom { date, encoder in
                guard date.isInISO8601 else {
                    // Its seconds, because Foundation cannot describe such a date.
                    throw EncodingError.invalidValue(
                        date.timeIntervalSince1970,
                        EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "ISO 8601 has no such date"))
                }
                try date.formatted(.iso8601).encode(to: encoder)
            }
        }
        encoder.dataEncodingStrategy = rules.data
        encoder.keyEncodingStrategy = rules.keys
        let data = try encoder.encode(value)
        func failure(_ reason: String) -> EncodingError {
            EncodingError.invalidValue(value, EncodingError.Context(codingPath: [], debugDescription: reason))
        }
        let tree: JSONValue
        do {
            tree = try JSONReader.read(data, keepsDigits: true)
        } catch DecodingError.dataCorrupted(let context) {
            throw failure(context.debugDescription)
        }
        switch tree {
        case .null: items = []
        case .object(let members): items = rules.items(of: members) { $0 }
        default: throw failure("A query needs names: only a type with properties and a dictionary have them.")
        }
    }
}

extension URLQuery.EncodingRules {
    /// Returns the items of an object, sorted by name.
    fileprivate func items(of members: [String: JSONValue], named name: (String) -> String) -> [URLQuery.Item] {
        members.sorted { $0.key < $1.key }.flatMap { items(of: $0.value, named: name($0.key)) }
    }

    private func items(of value: JSONValue, named name: String) -> [URLQuery.Item] {
        switch value {
        case .object(let members): items(of: members) { URLQuery.nested($0, in: name) }
        case .array(let elements):
            elements.enumerated().flatMap { index, element in
                switch arrays {
                case .plain: items(of: element, named: name)
                case .brackets: items(of: element, named: "\(name)[]")
                case .indices: items(of: element, named: "\(name)[\(index)]")
                }
            }
        case .bool(let value) where booleans == .number: (value ? 1 : 0).queryItems(named: name)
        default: value.queryItems(named: name)
        }
    }
}
