/// A text that is no URL.
package struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// What is the matter with it.
    package let description: String
}
