/// What goes with the request besides what it says: who authenticates it, and with which others it is dropped.
extension RequestBuilder {
    /// Puts the request into a group, which can be dropped as one: see `Ness.dropAllRequests(in:)`.
    /// - Parameter name: The group's name. A request may be in several.
    public func group(_ name: String) -> RequestBuilder { with { $0.groups.insert(name) } }

    /// Has the request authenticated, wherever it goes.
    /// - Parameter authentication: What adds the credential; nil takes that of the environment in which the request begins.
    public func authenticate(with authentication: (any Authentication)? = nil) -> RequestBuilder {
        with { $0.authentication = authentication.map(AuthenticationChoice.own) ?? .environment }
    }

    /// Has the request made in an environment of its own, whatever the manager's is.
    /// - Parameter environment: The environment; nil for the manager's.
    public func set(environment: ServerEnvironment?) -> RequestBuilder { with { $0.environment = environment } }

    /// Has the request sent without the manager's credential.
    public func withoutAuthentication() -> RequestBuilder { with { $0.authentication = .none } }
}
