/// The setters of the header fields. A body has further fields: see `HTTPBody.headers`.
extension RequestBuilder {
    /// Sets header fields. They are added to those that an earlier call has set, and replace those of the same name.
    /// - Parameters:
    ///   - option: The treatment of the fields that an earlier call has set. `.overwriteAll` removes them.
    ///   - headers: The names and values. A dictionary that is made at run time is converted by `HTTPHeaders(dictionary)`.
    public func set(_ option: SetOption = .appendAndOverwriteSameKey, headers: HTTPHeaders) -> RequestBuilder {
        with { builder in
            switch option {
            case .overwriteAll: builder.headers = headers
            case .appendAndOverwriteSameKey: builder.headers.merge(headers)
            case .appendAndKeepPreviousValue: builder.headers = headers.merging(builder.headers)
            }
        }
    }

    /// Sets one header field.
    ///
    /// ```swift
    /// ness.get("users/1").set(header: "X-Id", to: id).dataRequest()
    /// ```
    /// - Parameters:
    ///   - name: The field's name, in any case.
    ///   - value: The value, in place of all values that earlier calls have set. `nil` removes them, so the manager's default header
    ///     applies.
    public func set(header name: String, to value: String?) -> RequestBuilder { with { $0.headers[name] = value } }

    /// Adds a value to a header field, after the values that it already has.
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The field's name.
    public func add(headerValue value: String, forKey key: String) -> RequestBuilder {
        with { $0.headers.add(value, for: key) }
    }
}
