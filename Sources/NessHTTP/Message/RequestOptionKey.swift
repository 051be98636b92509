/// A key for a request option: a value that a caller sets on a request and a loader reads. The type is the key.
///
/// ```swift
/// struct TraceKey: RequestOptionKey { static let defaultValue = "" }
///
/// // A loader reads the option that a caller sets.
/// let ness = Ness {
///     $0.loaders = [.modifyRequest { request in print(request[TraceKey.self]) }]
/// }
/// ness.get("users").set(option: TraceKey.self, to: "list").dataRequest()
/// ```
///
/// All attempts and redirects of a request keep its options. Options are not sent, and do not make requests differ. A shared exchange has
/// the options of the first caller.
public protocol RequestOptionKey {
    /// The type of the option's value.
    associatedtype Value: Sendable
    /// The value for a request that does not set the option.
    static var defaultValue: Value { get }
}

/// The options of a request, by key.
struct RequestOptions: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    subscript<Key: RequestOptionKey>(key: Key.Type) -> Key.Value {
        get { values.isEmpty ? Key.defaultValue : values[ObjectIdentifier(key)] as? Key.Value ?? Key.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }

    /// Adds the options that `others` has and this request does not set.
    mutating func inherit(_ others: RequestOptions) { values.merge(others.values) { mine, _ in mine } }
}

extension HTTPRequest {
    /// The value of an option; the default value if the request does not set it.
    /// - Parameter key: The key.
    public subscript<Key: RequestOptionKey>(key: Key.Type) -> Key.Value {
        get { options[key] }
        set { options[key] = newValue }
    }
}

/// A request option with the most bytes of the response's body; `nil` for the manager's limit.
enum MaximumResponseBytes: RequestOptionKey { static let defaultValue: Int? = nil }

/// A request option with the idle timeout until the head of a response arrives, in place of the request's timeout.
enum FirstByteTimeout: RequestOptionKey { static let defaultValue: Duration? = nil }

/// A request option with the longest time until a connection is ready; `nil` for the manager's limit.
enum ConnectTimeout: RequestOptionKey { static let defaultValue: Duration? = nil }

/// A request option with the deadline of several requests together, to name it in errors. `nil` if the request has its own deadline.
enum SharedDeadline: RequestOptionKey { static let defaultValue: Duration? = nil }

/// A request option that indicates whether the request neither sends nor stores cookies of the manager's jar.
enum BypassesCookies: RequestOptionKey { static let defaultValue = false }
