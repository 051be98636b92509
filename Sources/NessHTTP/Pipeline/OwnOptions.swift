/// A request option with the most bytes of the response's body; `nil` for the manager's limit.
enum MaximumResponseBytes: RequestOptionKey { static let defaultValue: Int? = nil }

/// A request option that indicates whether the request neither sends nor stores cookies of the manager's jar.
enum BypassesCookies: RequestOptionKey { static let defaultValue = false }
