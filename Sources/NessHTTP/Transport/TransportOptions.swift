/// A request option that asks the transport to deliver the body with its content coding, as the server sent it, and to add no
/// `Accept-Encoding` itself. Over a transport whose `Transport.keepsContentCoding` is false, such as `URLSessionTransport`, the request
/// fails with `NessError.Kind.invalidRequest` before it is sent.
public enum KeepsContentCoding: RequestOptionKey {
    /// False: the transport removes any content coding.
    public static let defaultValue = false
}

/// A request option that asks the transport to send `Expect: 100-continue` and to hold the body back until the server agrees: see
/// `RequestBuilder.set(expectsContinue:within:)`. The value is the longest wait.
public enum ExpectsContinue: RequestOptionKey {
    /// `nil`: the body follows the head immediately.
    public static let defaultValue: Duration? = nil
}
