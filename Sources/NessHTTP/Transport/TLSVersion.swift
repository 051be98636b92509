/// A version of TLS.
public enum TLSVersion: String, Sendable, Hashable, CaseIterable {
    /// TLS 1.0, which RFC 8996 deprecates.
    case v1_0 = "TLS 1.0"
    /// TLS 1.1, which RFC 8996 deprecates.
    case v1_1 = "TLS 1.1"
    /// TLS 1.2 (RFC 5246).
    case v1_2 = "TLS 1.2"
    /// TLS 1.3 (RFC 8446).
    case v1_3 = "TLS 1.3"
}
