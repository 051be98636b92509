/// The user named by `Authentication.userIdentifier`, and the credential fields that were sent for that user.
///
/// It is a request option, so that it follows the request through redirects.
struct AuthenticatedUser: RequestOptionKey, Sendable {
    static let defaultValue: AuthenticatedUser? = nil
    /// False, because the fields of the credential distinguish requests.
    static let distinguishesRequests = false

    let name: String
    /// The credential's fields. Cache keys contain `name` in place of them.
    let fields: [HTTPHeaders.Field]
}

extension HTTPRequest {
    /// The user whose credential this request carries. `nil` if the authentication gives no name, and after a redirect or a loader has
    /// changed or removed a field of the credential.
    var authenticatedUser: AuthenticatedUser? {
        // Without a name or a field, nothing identifies the user.
        guard let user = self[AuthenticatedUser.self], !user.name.isEmpty, !user.fields.isEmpty else { return nil }
        return user.fields.allSatisfy(headers.fields.contains) ? user : nil
    }
}
