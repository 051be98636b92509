/// A key for a request option: a value that a caller sets on a request and a loader reads. The type is the key.
///
/// ```swift
/// struct TenantKey: RequestOptionKey { static let defaultValue = "" }
///
/// // A loader reads the option that a caller sets.
/// let ness = Ness {
///     $0.loaders = [
///         .modifyRequest { $0.headers["X-Tenant"] = $0[TenantKey.self] }
///     ]
/// }
/// ness.get("users").set(option: TenantKey.self, to: "north").dataRequest()
/// ```
///
/// All attempts and redirects of a request keep its options. Options are not sent.
///
/// **Options keep requests apart.** A loader may turn an option into anything, even below the sharing of duplicates. So requests with
/// different values share neither an exchange nor a stored response. A key whose value changes no response, such as a label for a log, sets
/// `distinguishesRequests` to `false`. The value should be `Hashable`: a request with a value that cannot be compared shares nothing. A
/// cache's storage finds responses by the encoded values. So it stores a response only if the values are `Encodable`, and if the key's type
/// is not private.
public protocol RequestOptionKey {
    /// The type of the option's value.
    associatedtype Value: Sendable
    /// The value for a request that does not set the option.
    static var defaultValue: Value { get }
    /// A Boolean value that indicates whether the option keeps requests apart: those with different values then share neither an exchange
    /// nor a stored response.
    static var distinguishesRequests: Bool { get }
}

extension RequestOptionKey {
    /// True.
    public static var distinguishesRequests: Bool { true }
}

extension HTTPRequest {
    /// The value of an option; the default value if the request does not set it.
    /// - Parameter key: The key.
    public subscript<Key: RequestOptionKey>(key: Key.Type) -> Key.Value {
        get { options[key] }
        set { options[key] = newValue }
    }
}

/// A request option with the idle timeout until the head of a response arrives, in place of the request's timeout.
enum FirstByteTimeout: RequestOptionKey {
    static let defaultValue: Duration? = nil
    /// Each caller who shares an exchange has a separate timeout.
    static let distinguishesRequests = false
}

/// A request option with the deadline of several requests together, to name it in errors. `nil` if the request has its own deadline.
enum SharedDeadline: RequestOptionKey {
    static let defaultValue: Duration? = nil
    static let distinguishesRequests = false
}
