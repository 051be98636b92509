/// The error of a `TestServer` that could not start.
public struct TestServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system call that failed, such as `"bind"`.
    public let operation: String
    /// The `errno` of the failed call.
    public let code: Int32

    /// The call and the system's text for the code.
    public var description: String { "\(operation) failed: \(Platform.text(of: code)) (errno \(code))" }
}
