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

    /// Says whether sending the request twice means the same as sending it once, whatever its method says: whether `BackoffRetryControl` may try
    /// it again after the server may have seen it.
    /// - Parameter isIdempotent: Whether it does.
    public func set(isIdempotent: Bool) -> RequestBuilder { with { $0.isIdempotent = isIdempotent } }

    /// Makes the request equal to those that have the same identifier and the same kind, whatever else they say: see `DuplicatedHandler`.
    /// - Parameter duplicateIdentifier: The identifier; nil goes by method, URL, header fields and body.
    public func set(duplicateIdentifier: String?) -> RequestBuilder { with { $0.duplicateIdentifier = duplicateIdentifier } }

    /// Has the request begin at once, whatever the manager's `throttle` and `maximumConnectionsPerHost` say.
    public func withoutThrottle() -> RequestBuilder { set(option: BypassesThrottle.self, to: true) }

    /// Says whether the request may use a cellular connection. Only Apple platforms tell connections apart.
    /// - Parameter allowsCellularAccess: Whether it may.
    public func set(allowsCellularAccess: Bool) -> RequestBuilder {
        set(option: AllowsCellularAccess.self, to: allowsCellularAccess)
    }

    /// Sets an option, for the loader that declares it.
    /// - Parameters:
    ///   - option: The type that stands for it.
    ///   - value: The value.
    public func set<Key: RequestOptionKey>(option: Key.Type, to value: Key.Value) -> RequestBuilder {
        with { $0.options[option] = value }
    }
}
