/// The method of a request (RFC 9110, section 9). Methods are case-sensitive.
///
/// The standard methods are static members. For any other, write `.custom("PURGE")`. A method that is not a token (RFC 9110, section 5.6.2)
/// fails the request with `NessError.Kind.invalidRequest` before anything is sent.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The method as written on the request line.
    public let rawValue: String

    /// Makes a method from its name, without checking it.
    /// - Parameter rawValue: The name, in the case that the server expects.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Makes a method that is not a static member.
    /// - Parameter name: The name, in the case that the server expects.
    public static func custom(_ name: String) -> HTTPMethod { HTTPMethod(rawValue: name) }

    /// Transfers a representation of the target.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Transfers the header fields of a GET response, without the content.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Lets the target process the content.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces the target by the content.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Changes a part of the target (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Removes the target.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Asks the target to process the content and to return the result, without changing anything: a GET with a body (IETF draft "The HTTP
    /// QUERY Method"). It is safe and idempotent. The content should have a `Content-Type`. Responses are not cached.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// Asks for the methods and options that the target supports.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// Returns the request to the client, for diagnosis.
    public static let trace = HTTPMethod(rawValue: "TRACE")
    /// Opens a tunnel. URLSession cannot send it, so it fails with `NessError.Kind.invalidRequest`.
    package static let connect = HTTPMethod(rawValue: "CONNECT")

    /// A Boolean value that indicates whether the method only reads (RFC 9110, section 9.2.1).
    public var isSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "QUERY", "OPTIONS", "TRACE": true
        default: false
        }
    }

    /// A Boolean value that indicates whether repeating a request is harmless (RFC 9110, section 9.2.2).
    public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// The method's name, with its invisible characters escaped.
    public var description: String { rawValue.oneLine }
}
