/// An option that a loader of the caller's declares and requests can set: a type stands for it.
///
/// ```swift
/// struct TraceKey: RequestOptionKey { static let defaultValue = "" }
///
/// ness.httpRequest(withUrl: "users").set(option: TraceKey.self, to: "list")   // whoever builds the request
/// request[TraceKey.self]                                                      // the loader: "list"
/// ```
///
/// Options travel with the request through the pipeline, its retries and redirects. They are not sent, and do not make requests differ:
/// requests that share an exchange do so with the options of the first, below `PipelineStage.coalesce`.
public protocol RequestOptionKey {
    /// What the option holds.
    associatedtype Value: Sendable
    /// What a request has that does not set it.
    static var defaultValue: Value { get }
}

/// The options that a request sets, each with the type that stands for it.
struct RequestOptions: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    subscript<Key: RequestOptionKey>(key: Key.Type) -> Key.Value {
        get { values.isEmpty ? Key.defaultValue : values[ObjectIdentifier(key)] as? Key.Value ?? Key.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }

    /// Takes over what others set and this does not.
    mutating func inherit(_ others: RequestOptions) { values.merge(others.values) { mine, _ in mine } }
}

extension HTTPRequest {
    /// An option of this request; its default where the request does not set it.
    /// - Parameter key: The type that stands for it.
    public subscript<Key: RequestOptionKey>(key: Key.Type) -> Key.Value {
        get { options[key] }
        set { options[key] = newValue }
    }
}
