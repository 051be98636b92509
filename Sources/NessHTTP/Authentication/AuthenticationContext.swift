/// The circumstances in which an `Authentication` gives a credential.
///
/// A wrapping authentication must pass this context to the wrapped one. A refresh then runs on the manager's clock, sends with the manager,
/// and ends with the manager's reset. In a test, call the methods of an authentication with `AuthenticationContext()`.
public struct AuthenticationContext: Sendable {
    /// A Boolean value that indicates whether the credential has just been renewed, because the server rejected the one before.
    public let isRenewed: Bool
    /// The step that calls the authentication; `nil` outside of a manager.
    let step: CredentialStep?
    /// The attempt whose request gets the credential; `nil` outside of a manager.
    let attempt: (any AuthenticatedAttempt)?

    /// Makes the context of a request that no manager sends.
    public init() { (isRenewed, step, attempt) = (false, nil, nil) }

    init(_ step: CredentialStep, _ attempt: any AuthenticatedAttempt, isRenewed: Bool) {
        (self.step, self.attempt, self.isRenewed) = (step, attempt, isRenewed)
    }
}
