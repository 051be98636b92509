/// The measurements of the connection of one exchange: see `RequestMetrics.connections`. Times are real times, regardless of the manager's
/// clock.
public struct ConnectionMetrics: Sendable, Hashable {
    /// The version of HTTP on a connection.
    public enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
        /// HTTP/1.0.
        case http1_0 = "HTTP/1.0"
        /// HTTP/1.1 (RFC 9112).
        case http1_1 = "HTTP/1.1"
        /// HTTP/2 (RFC 9113).
        case http2 = "HTTP/2"
        /// HTTP/3 (RFC 9114).
        case http3 = "HTTP/3"
    }

    /// The address of one end of a connection.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// The IP address as text.
        public var host: String
        /// The port.
        public var port: Int

        /// Makes an address.
        /// - Parameters:
        ///   - host: The IP address as text.
        ///   - port: The port.
        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// The address and the port, as in a URL.
        public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// The time that the look-up of the host's name took; `nil` on a reused connection.
    public var nameLookup: Duration?
    /// The time from the look-up's end until TCP was connected: with a proxy, to the proxy. `nil` on a reused connection.
    public var connect: Duration?
    /// The time that the TLS handshake took, including the proxy's tunnel before it; `nil` on a reused connection and without TLS.
    public var tls: Duration?
    /// The time from the moment when the request could be sent until the first byte of the response arrived; `nil` if none did. It contains
    /// the sending of the request.
    public var firstByte: Duration?
    /// The version of HTTP; `nil` if it is not known.
    public var httpVersion: HTTPVersion?
    /// True if an earlier exchange had opened the connection.
    public var isReused: Bool
    /// The number of times that the request was sent before, within the same exchange, on connections that failed or whose server did not
    /// process it. `CurlTransport` sends a request again only if that is safe.
    public var resendCount = 0
    /// The address of this side; `nil` for a unix socket, or if it is not known.
    public var localAddress: Address?
    /// The address of the server, or of the proxy; `nil` for a unix socket, or if it is not known.
    public var remoteAddress: Address?

    /// Makes measurements of which only `isReused` is known.
    /// - Parameter isReused: True if an earlier exchange had opened the connection.
    public init(isReused: Bool) { self.isReused = isReused }
}
