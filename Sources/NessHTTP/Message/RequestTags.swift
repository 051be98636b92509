/// The purpose of a request, in the words of the application: a request option for logs, metrics and traces.
///
/// ```swift
/// ness.get("users", id, "photos")
///     .set(tags: RequestTags(
///         route: "users/{id}/photos", requestID: "r-17"))
///     .dataRequest()
/// ```
///
/// Ness sends nothing of it. Requests that differ only in their tags are equal for the cache and for duplicates. Observers and loaders read
/// the tags of a request under `HTTPRequest.tags`. The values appear in logs as they are.
public struct RequestTags: Sendable, Hashable {
    /// The path with names in place of values, such as `users/{id}`: a metric has one series for it, and not one for each user.
    public var route: String?
    /// An identifier of the work that the request is a part of, such as the request that a server is handling.
    public var requestID: String?
    /// Other values, by name.
    public var values: [String: String]

    /// Makes tags.
    /// - Parameters:
    ///   - route: The path with names in place of values; `nil` for no name.
    ///   - requestID: An identifier of the work that the request is a part of; `nil` for none.
    ///   - values: Other values, by name.
    public init(route: String? = nil, requestID: String? = nil, values: [String: String] = [:]) {
        (self.route, self.requestID, self.values) = (route, requestID, values)
    }
}

extension RequestTags: RequestOptionKey {
    /// Tags without values.
    public static let defaultValue = RequestTags()
    /// False: tags change no response.
    public static let distinguishesRequests = false
}

extension HTTPRequest {
    /// The tags of the request.
    public var tags: RequestTags {
        get { self[RequestTags.self] }
        set { self[RequestTags.self] = newValue }
    }
}
