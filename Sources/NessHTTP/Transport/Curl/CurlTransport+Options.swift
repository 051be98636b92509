#if os(Linux)
import Foundation

extension CurlTransport {
    /// The settings of a transport. They are checked when the transport is made, and do not change afterwards.
    ///
    /// ```swift
    /// let transport = try CurlTransport {
    ///     $0.proxy = .url(proxyURL, username: "me", password: password)
    ///     $0.minimumTLSVersion = .v1_3
    /// }
    /// let ness = Ness { $0.transport = transport }
    /// ```
    public struct Options: Sendable {
        /// A Boolean value that indicates whether server and client may negotiate HTTP/2 over TLS. Streams and downloads use HTTP/1.1 in
        /// every case.
        ///
        /// A libcurl before 8.5 uses HTTP/1.1 for all requests, because over HTTP/2 it can deliver the response to another request. So does
        /// a libcurl that was built without HTTP/2. The transport's `description` begins with the newest version of HTTP that it uses.
        public var allowsHTTP2 = true
        /// The oldest version of TLS that is accepted, from servers and from proxies.
        public var minimumTLSVersion = TLSVersion.v1_2
        /// The proxy.
        public var proxy = Proxy.environment
        /// The path of a unix socket to which every connection goes, regardless of the URL's host, and without a proxy; `nil` for TCP. At
        /// most 107 bytes. The socket need not exist yet.
        public var unixSocketPath: String?
        /// The local end of connections: the name of a network interface (`eth1`), or an IP address of this machine. `nil` for the
        /// system's choice.
        public var localInterface: String?
        /// The addresses of hosts, in place of those that the system knows.
        public var hostEntries: [HostEntry] = []
        /// Decides which addresses connections may go to. `nil` allows all.
        ///
        /// Set it if others choose the URLs of requests, to keep them from your internal network (SSRF):
        ///
        /// ```swift
        /// let transport = try CurlTransport {
        ///     $0.allowsAddress = IPAddress.publicOnly
        /// }
        /// ```
        ///
        /// The transport calls the closure after the name is looked up and before it connects, for each address of each connection,
        /// including those of redirects and proxies. The connection goes to the very address that was allowed, so a name whose address
        /// changes after a check (DNS rebinding) gains nothing. If the closure rejects an address, the host's other addresses are tried. If
        /// it rejects all, the request fails with `NessError.Kind.addressRejected`. A connection that is used again was allowed when it was
        /// opened.
        ///
        /// With a proxy, the transport connects to the proxy only, so the closure receives the proxy's address and name. It also receives
        /// the URL's host if that is an IP address, in any notation, or `localhost`. The transport cannot check any other host, because the
        /// proxy looks it up: such a request fails with `NessError.Kind.addressRejected`, unless `allowsUncheckedProxyTargets` is true. The
        /// process's environment may name a proxy: see `Proxy.environment`.
        ///
        /// A unix socket has no IP address: `unixSocketPath` cannot be set as well.
        ///
        /// - Parameters:
        ///   - address: The address.
        ///   - host: The host of the URL, or of the proxy, without brackets.
        /// - Returns: True if the connection may be opened. The closure runs on the transport's threads, possibly on several concurrently.
        ///   It has to return quickly, because it delays all requests of its thread.
        public var allowsAddress: (@Sendable (_ address: IPAddress, _ host: String) -> Bool)?

        /// A Boolean value that indicates whether a proxy may connect to hosts that `allowsAddress` cannot check, because the proxy looks
        /// their names up. Set it to true only if the proxy itself rejects internal addresses.
        public var allowsUncheckedProxyTargets = false

        /// The longest time that a connection may have been idle before it carries a request that must not be sent twice: one with a body,
        /// or one that is not idempotent. Whole seconds, from 0 to 118. The server may close an idle connection just as the request
        /// arrives; the request then fails with `NessError.Kind.connectionLost`, and the server may have acted. Zero opens a new connection
        /// for each such request.
        public var maximumIdleTimeForWrites = Duration.seconds(2)

        /// Makes settings that equal those of `CurlTransport()`.
        package init() {}
    }

    /// The way to servers.
    public enum Proxy: Sendable, RedactedValue {
        /// The proxies of the process's environment, read for each request: `http_proxy` (lower case only) for http; `https_proxy` or
        /// `HTTPS_PROXY` for https; `all_proxy` or `ALL_PROXY` for both. `no_proxy` or `NO_PROXY` lists hosts without a proxy, separated by
        /// commas; `*` stands for all. A URL in them may contain credentials.
        case environment
        /// No proxy, regardless of the environment.
        case direct
        /// A proxy for every request, regardless of the environment.
        ///
        /// The URL's scheme is `http`, `https`, `socks5` (the client looks names up) or `socks5h` (the proxy does). Its port is 80, 443 or
        /// 1080 if it names none. Credentials may also stand in the URL. `authorities` may sign the certificate of an https proxy, in place
        /// of the system's authorities. `Ness.Configuration.serverTrust` does not concern proxies.
        case url(URL, username: String? = nil, password: String? = nil, authorities: Certificates? = nil)

        /// The kind of the proxy, with its host and port but without credentials.
        package var redactedDescription: String {
            switch self {
            case .environment: "the environment's proxy"
            case .direct: "no proxy"
            case .url(let url, _, _, _): "the proxy \(url.host ?? "")\(url.port.map { ":\($0)" } ?? "")"
            }
        }
    }

    /// The addresses of a host and a port, in place of those that the system knows.
    public struct HostEntry: Sendable, Hashable {
        /// The host's name.
        public var host: String
        /// The port for which the entry counts.
        public var port: Int
        /// The IPv4 and IPv6 addresses, which are tried in turn.
        public var addresses: [String]

        /// Makes an entry.
        /// - Parameters:
        ///   - host: The host's name.
        ///   - port: The port for which the entry counts.
        ///   - addresses: The IPv4 and IPv6 addresses, which are tried in turn.
        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// The error of a transport whose options cannot be used.
    package struct OptionError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name of the option; `nil` if no option is at fault.
        package let option: String?
        /// The reason, without secrets.
        package let reason: String

        /// The option and the reason.
        package var description: String { option.map { "\($0): \(reason)" } ?? reason }
    }
}
#endif
