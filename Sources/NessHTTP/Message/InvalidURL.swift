/// A text that is no URL.
public struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// What is the matter with it.
    public let description: String
}
