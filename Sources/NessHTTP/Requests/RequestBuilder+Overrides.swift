/// Loaders, observers and limits of one request.
extension RequestBuilder {
    /// Adds loaders to this request alone. At each place they run in this order, after the manager's.
    ///
    /// ```swift
    /// ness.get("report")
    ///     .add(loaders: [.modifyRequest { $0.headers["X-Trace"] = trace }])
    ///     .dataRequest()
    /// ```
    ///
    /// `Ness.reset()` does not reset them: a loader that keeps state between requests belongs to the manager.
    ///
    /// A loader at `.exchange` does not run if this request joins the exchange of an equal one.
    /// - Parameters:
    ///   - loaders: The loaders. They add to those of earlier calls.
    ///   - place: The place in the pipeline.
    public func add(loaders: [any HTTPLoader], at place: LoaderPlace = .attempt) -> RequestBuilder {
        with { $0.overrides = .adding(loaders: loaders, at: place, to: $0.overrides) }
    }

    /// Adds an observer to this request alone. It receives the same events as the manager's observers, after them.
    /// - Parameter observer: The observer. It adds to those of earlier calls. The builder and the running request hold it strongly.
    public func add(observer: any RequestObserver) -> RequestBuilder {
        with { $0.overrides = .adding(observers: [observer], to: $0.overrides) }
    }

    /// Sends this request over a transport in place of the manager's. It then shares no exchange with other requests.
    /// - Parameter transport: The transport.
    package func set(transport: any Transport) -> RequestBuilder {
        with { $0.overrides = .adding(transport: transport, to: $0.overrides) }
    }

    /// Sets the largest size of the response's body, after decompression, in place of the manager's limit. A longer body fails with
    /// `NessError.Kind.responseTooLarge`. The limit does not apply to a response from the cache.
    /// - Parameter maximumResponseBytes: The size in bytes; `nil` for no limit. A negative size fails the request with `invalidRequest`.
    public func set(maximumResponseBytes: Int?) -> RequestBuilder {
        with { $0.settings.maximumResponseBytes = maximumResponseBytes ?? .max }
    }

    /// Sends the request without the jar's cookies, and stores no cookie that its responses set. A `Cookie` field of the request is still
    /// sent.
    public func withoutCookies() -> RequestBuilder { with { $0.settings.bypassesCookies = true } }
}
