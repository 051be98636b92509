extension Ness.Configuration {
    /// Puts a loader into the pipeline. `loaders` stand between `.after(.environment)` and `.before(.authenticate)`.
    ///
    /// Loaders at one place run in the order in which they were inserted. One before `.retry` runs once for a request, whatever it takes;
    /// what it answers by itself no validator has seen. One after `.retry` runs for each attempt, from the request as the caller made
    /// it. One after `.coalesce` runs once for all the callers who share an exchange, one after `.redirect` for each of the redirects.
    ///
    /// ```swift
    /// configuration.insert(Stamp(), .before(.retry))
    /// configuration.insert(.modifyRequest { $0.headers["Date"] = now() }, .after(.authenticate))
    /// ```
    /// - Parameters:
    ///   - loader: The loader.
    ///   - place: Where it goes.
    public mutating func insert(_ loader: any HTTPLoader, _ place: PipelinePlace) { inserted.append((place, loader)) }
}
