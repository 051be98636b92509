/// The names whose values are secret. A secret value is shown as `<redacted>` in every description, and a secret header field is not sent
/// to another origin.
///
/// The words of a name make it secret, in any spelling: `X-Auth-Token`, `authToken` and `AUTH_TOKEN` are equal. Words for tokens,
/// passwords, secrets, signatures, credentials, sessions, cookies and authorization make a name secret. `key` does so after such a word as
/// `api`, `access`, `auth` or `private`. A name that describes a secret, such as `token_type` or `password_length`, is not secret. In
/// queries and forms, the names `code` and `key` are secret, too, because they carry OAuth codes and API keys.
///
/// A value that a request sent under a secret name is also hidden wherever a text about the request repeats it. That needs at least 6
/// bytes, because a shorter value occurs in other words. Text that is neither JSON nor a form is not shown if it contains a secret name.
///
/// Names can be added and removed. They compare case-insensitively.
public struct SecretNames: Sendable, Hashable {
    /// The added names (true) and the removed names (false).
    private var decisions: [String: Bool] = [:]

    /// The header fields that cannot be removed, because they contain only credentials.
    private static let permanent = Set(
        [HeaderName.authorization, HeaderName.proxyAuthorization, HeaderName.cookie, HeaderName.setCookie].map { $0.lowercased() })
    /// The parameters that are secret in queries and forms, but are ordinary words in other text. `SecretNameRule.mayBeSecret` is true for
    /// them.
    private static let queryParameters: Set<String> = ["code", "key"]

    /// Makes a set without added or removed names.
    public init() {}

    /// Adds names.
    /// - Parameter names: Names of header fields or parameters, in any case.
    public mutating func insert(_ names: some Sequence<String>) { for name in names { decisions[name.lowercased()] = true } }

    /// Removes names. Their values are shown, and sent to other origins. `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie`
    /// stay secret as header fields.
    /// - Parameter names: Names of header fields or parameters, in any case.
    public mutating func remove(_ names: some Sequence<String>) { for name in names { decisions[name.lowercased()] = false } }

    /// Checks whether a header field is secret.
    /// - Parameter name: The field's name, in any case.
    package func containsHeader(_ name: String) -> Bool {
        // A fast path: this method runs for every field of a request that the cache may answer.
        if decisions.isEmpty && !SecretNameRule.mayBeSecret(name) { return false }
        let lowercased = name.lowercased()
        if Self.permanent.contains(lowercased) { return true }
        return decisions[lowercased] ?? SecretNameRule.isSecret(name)
    }

    /// Checks whether a parameter is secret.
    /// - Parameters:
    ///   - name: The parameter's name, in any case.
    ///   - isInQuery: True for a parameter of a query or a form, false for a name in JSON or other text.
    package func containsParameter(_ name: String, isInQuery: Bool = false) -> Bool {
        let lowercased = name.lowercased()
        return decisions[lowercased] ?? (SecretNameRule.isSecret(name) || (isInQuery && Self.queryParameters.contains(lowercased)))
    }

    /// Checks quickly whether a text may contain a secret name.
    func mayContain(_ text: String) -> Bool { !decisions.isEmpty || SecretNameRule.mayBeSecret(text) }

    /// Applies another set's additions and removals.
    mutating func apply(_ later: SecretNames) { decisions.merge(later.decisions) { $1 } }

    /// Applies another set's additions.
    mutating func hide(_ other: SecretNames) { for (name, isSecret) in other.decisions where isSecret { decisions[name] = true } }
}
