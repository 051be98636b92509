/// The names whose values are secret: a value is shown as `<redacted>` in every description, and a header field is not sent to another origin.
///
/// A name is secret by its words, in any spelling: `X-Auth-Token`, `authToken` and `AUTH_TOKEN` are one. Words for tokens, passwords, secrets,
/// signatures, credentials, sessions, cookies and authorization make a name secret; `key` does behind such a word as `api`, `access`, `auth` or
/// `private`. A name that tells something about a secret, such as `token_type` or `password_length`, is not secret. In queries and forms `code`
/// and `key` alone are secret, too: OAuth's codes and API keys are sent there.
///
/// Names can be added and removed. They compare without regard to case.
public struct SecretNames: Sendable, Hashable {
    /// The names that were added, with true, or removed, with false.
    private var decisions: [String: Bool] = [:]

    /// The header fields that cannot be removed: they hold nothing but credentials.
    private static let permanent = Set(
        [HeaderName.authorization, HeaderName.proxyAuthorization, HeaderName.cookie, HeaderName.setCookie].map { $0.lowercased() })
    /// The parameters that are secret in queries and forms, but are ordinary words elsewhere.
    private static let queryParameters: Set<String> = ["code", "key"]

    /// Only the names that are secret by their words.
    public init() {}

    /// Adds names.
    /// - Parameter names: Names of header fields or parameters, in any case.
    public mutating func insert(_ names: some Sequence<String>) { for name in names { decisions[name.lowercased()] = true } }

    /// Removes names: their values are shown, and sent to other origins. `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie` stay
    /// secret as header fields.
    /// - Parameter names: Names of header fields or parameters, in any case.
    public mutating func remove(_ names: some Sequence<String>) { for name in names { decisions[name.lowercased()] = false } }

    /// Checks whether a header field is secret.
    /// - Parameter name: Its name, in any case.
    package func containsHeader(_ name: String) -> Bool {
        // Asked of every field of a request that may be answered by a cache.
        if decisions.isEmpty && !SecretNameRule.mayBeSecret(name) { return false }
        let lowercased = name.lowercased()
        if Self.permanent.contains(lowercased) { return true }
        return decisions[lowercased] ?? SecretNameRule.isSecret(name)
    }

    /// Checks whether a parameter is secret.
    /// - Parameters:
    ///   - name: Its name, in any case.
    ///   - isInQuery: True for a parameter of a query or a form, false for a name in JSON or other text.
    package func containsParameter(_ name: String, isInQuery: Bool = false) -> Bool {
        let lowercased = name.lowercased()
        return decisions[lowercased] ?? (SecretNameRule.isSecret(name) || (isInQuery && Self.queryParameters.contains(lowercased)))
    }

    /// Adds and removes what another set adds and removes.
    mutating func apply(_ later: SecretNames) { decisions.merge(later.decisions) { $1 } }

    /// Adds what another set adds.
    mutating func hide(_ other: SecretNames) { for (name, isSecret) in other.decisions where isSecret { decisions[name] = true } }
}
