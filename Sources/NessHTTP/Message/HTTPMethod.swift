/// The method of a request (RFC 9110, section 9). Case-sensitive, as HTTP has it.
///
/// The standard methods are static members; any other token is `.custom("PURGE")`. A method that is not a token
/// is refused with `NessError.invalidRequest` before anything is sent, never repaired.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The method as it stands on the request line.
    public let rawValue: String

    /// Makes a method from its name, which is not checked here.
    /// - Parameter rawValue: The name, in the case the server expects.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Makes a method that is not among the standard ones.
    /// - Parameter name: The name, in the case the server expects.
    public static func custom(_ name: String) -> HTTPMethod { HTTPMethod(rawValue: name) }

    /// Transfers a representation of the target.
    public static let get = HTTPMethod(rawValue: "GET")
    /// As `get`, without the content.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Has the target process the content.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces the target by the content.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Changes the target in part (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Removes the target.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Asks what the target allows.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// Loops the request back.
    public static let trace = HTTPMethod(rawValue: "TRACE")
    /// Opens a tunnel. No URLSession can send it; it fails with `NessError.invalidRequest`.
    package static let connect = HTTPMethod(rawValue: "CONNECT")

    /// Whether the method only reads (RFC 9110, 9.2.1).
    public var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }

    /// Whether sending it twice means the same as sending it once (RFC 9110, 9.2.2).
    public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// The method's name.
    public var description: String { rawValue }
}
