/// The reason why a request must not be sent.
package struct InvalidRequest: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
