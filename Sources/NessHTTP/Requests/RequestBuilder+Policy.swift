/// Policies of the request: authentication, groups, environment, duplicates and options.
extension RequestBuilder {
    /// Adds the request to a group. All requests of a group can be dropped together: see `Ness.dropAllRequests(in:)`.
    /// - Parameter group: The group's name. A request may be in several groups.
    public func add(group: String) -> RequestBuilder { with { $0.groups.insert(group) } }

    /// Authenticates the request, regardless of its URL.
    ///
    /// ```swift
    /// ness.get("https://files.example.com/1")
    ///     .authenticate(with: .bearer(token))
    ///     .dataRequest()
    /// ```
    /// - Parameter authentication: The authentication; `nil` for the one in the environment in which the request starts.
    public func authenticate(with authentication: (any Authentication)? = nil) -> RequestBuilder {
        with { $0.authentication = authentication.map(AuthenticationChoice.given) ?? .environment }
    }

    /// Sets the retry policy, in place of the manager's.
    ///
    /// A policy set on a request applies to any method, even POST, because you chose it for that request: see `RetryControl`.
    ///
    /// ```swift
    /// ness.post("orders").set(jsonEncodable: order).set(retry: .never).dataRequest()
    /// ```
    /// - Parameter retry: The policy; `nil` for the manager's, `.never` for no retries.
    public func set(retry: (any RetryControl)?) -> RequestBuilder { with { $0.retryControl = retry } }

    /// Sets an environment for this request alone, in place of the manager's.
    /// - Parameter environment: The environment; `nil` for the manager's.
    public func set(environment: ServerEnvironment?) -> RequestBuilder { with { $0.environment = environment } }

    /// Sends the request without the manager's credential.
    public func withoutAuthentication() -> RequestBuilder { with { $0.authentication = .none } }

    /// Declares whether repeating the request is harmless, regardless of its method. If it is, the manager's retry policy applies even
    /// after the request may have reached the server.
    /// - Parameter isIdempotent: `true` if repeating the request is harmless.
    public func set(isIdempotent: Bool) -> RequestBuilder { with { $0.settings.isIdempotent = isIdempotent } }

    /// Makes requests with the same identifier duplicates of each other, regardless of method, URL and body: see `DuplicatedHandler`. Their
    /// kind of result and their secret header fields must be equal as well.
    /// - Parameter duplicateIdentifier: The identifier; `nil` to compare method, URL, header fields and body.
    public func set(duplicateIdentifier: String?) -> RequestBuilder { with { $0.duplicateIdentifier = duplicateIdentifier } }

    /// Starts the request without waiting in the manager's queues: those of `throttle`, `maximumConnectionsPerHost` and
    /// `maximumConcurrentRequests`.
    public func withoutQueueing() -> RequestBuilder { with { $0.settings.bypassesQueues = true } }

    /// Sets the networks that the request may use. Only Apple platforms distinguish them. `nil` keeps a setting.
    /// - Parameters:
    ///   - allowsCellularAccess: `true` to allow cellular connections.
    ///   - allowsExpensiveNetworkAccess: `true` to allow networks that the system considers expensive, such as a cellular connection or a
    ///     personal hotspot.
    ///   - allowsConstrainedNetworkAccess: `true` to allow networks for which the user has switched Low Data Mode on.
    public func set(
        allowsCellularAccess: Bool? = nil, allowsExpensiveNetworkAccess: Bool? = nil, allowsConstrainedNetworkAccess: Bool? = nil
    ) -> RequestBuilder {
        with { builder in
            let answers: [(Bool?, NetworkTraits)] = [
                (allowsCellularAccess, .cellular), (allowsExpensiveNetworkAccess, .expensive),
                (allowsConstrainedNetworkAccess, .constrained),
            ]
            for case (let isAllowed?, let trait) in answers {
                if isAllowed { builder.settings.excludedNetworks.remove(trait) } else { builder.settings.excludedNetworks.insert(trait) }
            }
        }
    }

    /// Sets the urgency of the request, as a hint. The server learns it from the header field `Priority` (RFC 9218), and URLSession on
    /// Apple platforms from its task. The manager's own queues stay first in, first out. Requests that differ only in their priority are
    /// duplicates.
    /// - Parameter priority: The priority.
    public func set(priority: RequestPriority) -> RequestBuilder {
        with { $0.headers[HeaderName.priority] = priority.fieldValue }
    }

    /// Sets whether the body waits until the server has agreed to receive it (`Expect: 100-continue`, RFC 9110, section 10.1.1). A server
    /// can then reject a large body by its head, before the body is sent.
    ///
    /// Over `CurlTransport`, a request that waits uses HTTP/1.1. The body is sent after the limit in any case, because some servers never
    /// agree. If a server responds with 417 before a byte of the body was sent, the request is sent once more without the expectation.
    /// `URLSessionTransport` cannot wait. It sends the request without the expectation, which has the same outcome, but sends the body in
    /// every case. A request without a body has no expectation.
    /// - Parameters:
    ///   - expectsContinue: `true` to wait.
    ///   - limit: The longest wait, at least one millisecond, in real time regardless of the manager's clock.
    public func set(expectsContinue: Bool, within limit: Duration = .seconds(1)) -> RequestBuilder {
        set(option: ExpectsContinue.self, to: expectsContinue ? limit : nil)
    }

    /// Sets the tags, which name the request in logs, metrics and traces.
    /// - Parameter tags: The tags.
    public func set(tags: RequestTags) -> RequestBuilder { set(option: RequestTags.self, to: tags) }

    /// Sets an option for a loader: see `RequestOptionKey`.
    /// - Parameters:
    ///   - option: The option's key.
    ///   - value: The value.
    public func set<Key: RequestOptionKey>(option: Key.Type, to value: Key.Value) -> RequestBuilder {
        with { $0.options[option] = value }
    }
}
