extension RefreshableAuthentication: CustomStringConvertible, CustomReflectable {
    /// The type's name alone: the credential is secret.
    public var description: String { "RefreshableAuthentication" }
    /// An empty mirror: the credential is secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
