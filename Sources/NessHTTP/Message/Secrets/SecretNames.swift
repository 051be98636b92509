/// The names whose values are secret: see `Ness.Configuration.secretNames`. Names can be added and removed. They compare
/// case-insensitively.
package struct SecretNames: Sendable, Hashable {
    /// The added names (true) and the removed names (false). A key compares as a string, not by bytes, so
    /// that a name is hidden in each normalization.
    private var decisions: [String: Bool] = [:]

    /// The header fields that cannot be removed, because they contain only credentials.
    private static let permanent = Set(
        [HeaderName.authorization, HeaderName.proxyAuthorization, HeaderName.cookie, HeaderName.setCookie].map { $0.lowercased() })
    /// The parameters that are secret in queries and forms, but are ordinary words in other text. `SecretNameRule.mayBeSecret` is true for
    /// them.
    private static let queryParameters: Set<String> = ["code", "key"]

    /// Makes a set without added or removed names.
    package init() {}

    /// Adds names.
    /// - Parameter names: Names of header fields or parameters, in any case.
    package mutating func insert(_ names: some Sequence<String>) { for name in names { decisions[name.lowercased()] = true } }

    /// Removes names. Their values are shown, and sent to other origins. `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie`
    /// stay secret as header fields.
    /// - Parameter names: Names of header fields or parameters, in any case.
    package mutating func remove(_ names: some Sequence<String>) { for name in names { decisions[name.lowercased()] = false } }

    /// Checks whether a header field is secret.
    /// - Parameter name: The field's name, in any case.
    package func containsHeader(_ name: String) -> Bool {
        // A fast path: this method runs for every field of a request that may be served from the cache.
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

    /// Checks quickly whether a string may contain a secret name.
    func mayContain(_ text: String) -> Bool { !decisions.isEmpty || SecretNameRule.mayBeSecret(text) }

    /// Applies another set's additions and removals.
    mutating func apply(_ later: SecretNames) { decisions.merge(later.decisions) { $1 } }

    /// Applies another set's additions.
    mutating func hide(_ other: SecretNames) { for (name, isSecret) in other.decisions where isSecret { decisions[name] = true } }
}
