/// The user whose credential a request carries, by the stable name that its `Authentication` gives: see `Authentication.userIdentifier`.
///
/// It is a request option, so that it follows the request through redirects.
struct AuthenticatedUser: RequestOptionKey, Sendable {
    static let defaultValue: AuthenticatedUser? = nil
    /// False, because the fields of the credential distinguish requests.
    static let distinguishesRequests = false

    let name: String
    /// The fields that the authentication added. The name stands for them.
    let fields: [HTTPHeaders.Field]
}

extension HTTPRequest {
    /// The user whose credential this request carries. `nil` if the authentication gives no name, and after a redirect or a loader has
    /// changed or removed a field of the credential.
    var authenticatedUser: AuthenticatedUser? {
        guard let user = self[AuthenticatedUser.self], !user.name.isEmpty, !user.fields.isEmpty else { return nil }
        return user.fields.allSatisfy(headers.fields.contains) ? user : nil
    }
}
