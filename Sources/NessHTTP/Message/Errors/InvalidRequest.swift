/// The reason why a request must not be sent.
package struct InvalidRequest: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The error of a text that is not a valid URL.
package struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// The reason why the text is not a valid URL.
    package let description: String
}
