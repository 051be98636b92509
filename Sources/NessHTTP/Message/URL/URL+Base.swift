import Foundation

extension URL {
    /// Resolves a URL by RFC 3986, section 5.2. The base URL counts as a folder, with or without a slash at its end: `users` resolves
    /// against `https://host/v1` to `https://host/v1/users`. A URL inside the base URL gets the query of the base URL before its own, as an
    /// API's version belongs to all its URLs.
    /// - Throws: `InvalidRequest` if the URL is relative and there is no base URL, or if it cannot be resolved.
    package func resolved(against baseURL: URL?) throws -> URL {
        if namesScheme { return absoluteURL }
        guard let baseURL else {
            if scheme != nil { return absoluteURL }
            throw InvalidRequest("the URL is relative and the manager has no base URL")
        }
        var folder = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)
        let query = folder?.percentEncodedQuery ?? ""
        folder?.query = nil
        if let path = folder?.percentEncodedPath, !path.hasSuffix("/") { folder?.percentEncodedPath = path + "/" }
        // The first segment may have a colon, as in `documents:analyze`.
        let reference = scheme == nil ? relativeString : "./" + relativeString
        guard let base = folder?.url, let resolved = URL(string: reference, relativeTo: base)?.absoluteURL else {
            throw InvalidRequest("the URL can't be resolved against the base URL")
        }
        if query.isEmpty || !base.removingDotSegments.contains(resolved.removingDotSegments) { return resolved }
        var parts = URLComponents(url: resolved, resolvingAgainstBaseURL: true)
        let own = parts?.percentEncodedQuery ?? ""
        parts?.percentEncodedQuery = own.isEmpty ? query : "\(query)&\(own)"
        guard let extended = parts?.url else { throw InvalidRequest("the query of the base URL can't be added to the URL") }
        return extended
    }
}
