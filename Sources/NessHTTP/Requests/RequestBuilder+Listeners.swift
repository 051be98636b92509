import NessPromise

/// Closures that receive the events of a request, regardless of the method that sends it. Several closures of one kind run in the order in
/// which they were added.
extension RequestBuilder {
    /// Calls a closure with the progress of each request that is sent, like `RequestPromise.onProgress(_:)`. Awaited requests report their
    /// progress this way.
    ///
    /// ```swift
    /// let cat = try await ness.post("cats")
    ///     .set(multipart: form)
    ///     .onProgress { print($0.fractionCompleted ?? 0) }
    ///     .decoded(as: Cat.self)
    /// ```
    /// - Parameters:
    ///   - context: The queue on which the closure runs, such as `.main`. By default a serial queue off the main thread.
    ///   - listener: Takes the progress, at most ten times a second. The last call may follow the result.
    public func onProgress(
        on context: some HandlerContext = .immediate, _ listener: @escaping @Sendable (TransferProgress) -> Void
    ) -> RequestBuilder {
        listening { $0.progress.append(context.running(listener)) }
    }

    /// Calls a closure on the main actor with the progress of each request that is sent: see `onProgress(on:_:)`.
    /// - Parameter listener: Takes the progress, at most ten times a second. The last call may follow the result.
    @_disfavoredOverload
    public func onProgress(onMain listener: @escaping @MainActor @Sendable (TransferProgress) -> Void) -> RequestBuilder {
        onProgress(on: .main) { progress in MainActor.assumeIsolated { listener(progress) } }
    }

    /// Calls a closure with the head of the response as soon as it has arrived, before the body. The closure can end the request by
    /// throwing an error.
    ///
    /// ```swift
    /// let film = try await ness.get("films/1")
    ///     .onHead { head in
    ///         if head.headers["Content-Type"] != "video/mp4" { throw NotAFilm() }
    ///     }
    ///     .data()
    /// ```
    ///
    /// The closure receives the head of every exchange: of redirects, of a 401 that authentication handles, and of each attempt. It
    /// is not called for a response from the cache.
    /// - Parameters:
    ///   - context: The queue on which the closure runs, such as `.main`. The connection does not wait for the queue, so a part of the body
    ///     may arrive before an error of the closure ends the request. By default the closure runs off the main thread while the connection
    ///     waits, so it must not block, and the calls for a download in segments may overlap.
    ///   - listener: Takes the head, whose body is empty. An error that it throws ends the request immediately, like `drop(becauseOf:)`:
    ///     the connection is closed, no retry follows, and the promise fails with that error. After a drop or a failure it does not run;
    ///     after a success, its error has no effect.
    public func onHead(
        on context: some HandlerContext = .immediate, _ listener: @escaping @Sendable (HTTPResponse) throws -> Void
    ) -> RequestBuilder {
        listening { $0.head.append((context.handlerQueue, listener)) }
    }

    /// Calls a closure with each interim (1xx) response, such as 103 (Early Hints, RFC 8297).
    ///
    /// `CurlTransport` reports interim responses, and `URLSessionTransport` does so from iOS 17 and macOS 14 on. A request that joins the
    /// exchange of an equal one receives only later ones.
    /// - Parameters:
    ///   - context: The queue on which the closure runs, such as `.main`. By default it runs off the main thread while the connection
    ///     waits, so it must not block.
    ///   - listener: Takes the status and the header fields, as a response without a body.
    public func onInterim(
        on context: some HandlerContext = .immediate, _ listener: @escaping @Sendable (HTTPResponse) -> Void
    ) -> RequestBuilder {
        listening { $0.interim.append(context.running(listener)) }
    }

    /// Calls a closure with the measurements of each request that is sent, at its end, regardless of the outcome.
    ///
    /// ```swift
    /// let cats = try await ness.get("cats")
    ///     .onMetrics { print($0.total, $0.attempts) }
    ///     .decoded(as: [Cat].self)
    /// ```
    /// - Parameters:
    ///   - context: The queue on which the closure runs, such as `.main`. By default it runs off the main thread, where
    ///     `RequestObserver.requestDidCollect(_:of:)` runs.
    ///   - listener: Takes the measurements.
    public func onMetrics(
        on context: some HandlerContext = .immediate, _ listener: @escaping @Sendable (RequestMetrics) -> Void
    ) -> RequestBuilder {
        add(observer: MetricsListener(listener: context.running(listener)))
    }

    private func listening(_ add: (inout RequestListeners) -> Void) -> RequestBuilder {
        with { builder in
            var listeners = builder.listeners ?? RequestListeners()
            add(&listeners)
            builder.listeners = listeners
        }
    }
}

private struct MetricsListener: RequestObserver {
    let listener: @Sendable (RequestMetrics) -> Void

    func requestDidCollect(_ metrics: RequestMetrics, of request: HTTPRequest) { listener(metrics) }
}
