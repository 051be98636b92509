import Foundation

/// The options of a request, by key.
struct RequestOptions: Sendable {
    private var values: [ObjectIdentifier: any AnyRequestOption] = [:]

    subscript<Key: RequestOptionKey>(key: Key.Type) -> Key.Value {
        get { values.isEmpty ? Key.defaultValue : (values[ObjectIdentifier(key)] as? RequestOption<Key>)?.value ?? Key.defaultValue }
        set { values[ObjectIdentifier(key)] = RequestOption<Key>(value: newValue) }
    }

    /// Adds the options that `others` has and this request does not set.
    mutating func inherit(_ others: RequestOptions) { values.merge(others.values) { mine, _ in mine } }

    /// The options by which requests are compared; `nil` if one of them cannot be compared.
    @inline(never)
    fileprivate var distinguishing: [ObjectIdentifier: DistinguishingOption]? {
        if values.isEmpty { return [:] }
        let counted = values.filter(\.value.distinguishes)
        return counted.allSatisfy(\.value.isComparable) ? counted.mapValues(DistinguishingOption.init) : nil
    }
}

/// An option with its key, without their types.
private protocol AnyRequestOption: Sendable {
    /// True if a request with the option differs from one without it.
    var distinguishes: Bool { get }
    var isComparable: Bool { get }
    func isEqual(to other: any AnyRequestOption) -> Bool
    /// A string that no other value has; `nil` if the value cannot be encoded.
    var text: String? { get }
}

private struct RequestOption<Key: RequestOptionKey>: AnyRequestOption {
    let value: Key.Value

    /// Strings compare by bytes, because they may name users.
    private static func hashable(_ value: Key.Value) -> AnyHashable? {
        if let text = value as? String { return AnyHashable(ExactText(text)) }
        return (value as? any Hashable).map { AnyHashable($0) }
    }

    var distinguishes: Bool { Key.distinguishesRequests && (!isComparable || Self.hashable(value) != Self.hashable(Key.defaultValue)) }
    var isComparable: Bool { value is any Hashable }

    func isEqual(to other: any AnyRequestOption) -> Bool {
        guard let mine = Self.hashable(value), let other = other as? RequestOption<Key> else { return false }
        return mine == Self.hashable(other.value)
    }

    var text: String? {
        let name = String(reflecting: Key.self)
        // The name of a private type contains an address, which differs in the next process.
        guard let value = value as? any Encodable, !name.contains("(unknown context at ") else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let encoded = try? encoder.encode(value) else { return nil }
        return "\(name) \(String(decoding: encoded, as: UTF8.self))"
    }
}

/// An option that tells requests apart.
private struct DistinguishingOption: Hashable, Sendable {
    let option: any AnyRequestOption

    static func == (left: Self, right: Self) -> Bool { left.option.isEqual(to: right.option) }

    /// Adds nothing: options are rare, and their keys are hashed.
    func hash(into hasher: inout Hasher) {}
}

/// The parts of a request besides method, URL, header fields and body. Requests that differ in them share no exchange.
///
/// A new setting, and an option of the application, are compared without further code.
struct RequestDistinction: Hashable, Sendable {
    private(set) var settings: RequestSettings
    private let options: [ObjectIdentifier: DistinguishingOption]

    /// Makes the distinction of a request; `nil` if the request has an option that cannot be compared.
    init?(_ request: HTTPRequest) {
        guard let options = request.options.distinguishing else { return nil }
        (settings, self.options) = (request.settings, options)
    }

    /// The distinction without the settings that only concern the exchange. A stored response does not depend on them.
    var ofStoredResponse: RequestDistinction {
        var stored = self
        stored.settings.forgetExchange()
        return stored
    }

    /// A string that no other distinction has, and that is empty for a request without settings and options. `nil` if an option has none.
    var text: String? {
        if settings == RequestSettings(), options.isEmpty { return "" }
        let texts = options.values.map(\.option.text)
        guard texts.allSatisfy({ $0 != nil }) else { return nil }
        return "\(settings) \(texts.compactMap { $0 }.sorted())"
    }
}
