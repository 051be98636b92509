/// The error of a text that is not a valid URL.
package struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// The reason why the text is not a valid URL.
    package let description: String
}
