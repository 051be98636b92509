import Foundation

/// The setters of the URL's parameters.
extension RequestBuilder {
    /// Sets query parameters. They are added to the query that the URL already has, and to those that an earlier call has set, and replace
    /// the earlier ones of the same name.
    /// - Parameters:
    ///   - option: The treatment of the parameters that an earlier call has set. `.overwriteAll` removes them.
    ///   - urlParameters: The names and values, not percent-encoded. A dictionary that is made at run time is converted by
    ///     `URLQuery(dictionary)`.
    public func set(_ option: SetOption = .appendAndOverwriteSameKey, urlParameters: URLQuery) -> RequestBuilder {
        with { builder in
            switch option {
            case .overwriteAll: builder.query = .success(urlParameters)
            case .appendAndOverwriteSameKey: builder.query = builder.query.map { $0.merging(urlParameters) }
            case .appendAndKeepPreviousValue:
                builder.query = builder.query.map { previous in
                    let names = Set(previous.items.map(\.name))
                    return URLQuery(previous.items + urlParameters.items.filter { !names.contains($0.name) })
                }
            }
        }
    }

    /// Sets query parameters from a value whose type conforms to `Encodable`: see `set(_:urlParameters:)`.
    ///
    /// ```swift
    /// let cats = try await ness.get("cats")
    ///     .set(urlEncodable: Filter(tags: ["tabby"], since: date))
    ///     .decoded(as: [Cat].self)
    /// ```
    /// - Parameters:
    ///   - option: The treatment of the parameters that an earlier call has set.
    ///   - value: A structure, a class or a dictionary: see `URLQuery(encoding:with:)`. A value that cannot be encoded fails the request
    ///     with `NessError.Kind.invalidRequest` when it is started.
    ///   - rules: The rules for dates, bytes, names, arrays and Booleans.
    public func set(
        _ option: SetOption = .appendAndOverwriteSameKey, urlEncodable value: some Encodable,
        with rules: URLQuery.EncodingRules = URLQuery.EncodingRules()
    ) -> RequestBuilder {
        do {
            return set(option, urlParameters: try URLQuery(encoding: value, with: rules))
        } catch {
            return with { $0.query = .failure(error) }
        }
    }

    /// Adds a query parameter after those of the same name.
    /// - Parameters:
    ///   - value: The value. `nil` adds no parameter.
    ///   - key: The name.
    public func add(urlParameterValue value: (any QueryValue)?, forKey key: String) -> RequestBuilder {
        with { builder in
            guard case .success(var query) = builder.query else { return }
            query.append(value, named: key)
            builder.query = .success(query)
        }
    }
}
