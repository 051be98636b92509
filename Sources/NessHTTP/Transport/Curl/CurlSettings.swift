#if os(Linux)
import CNessCurl
import Foundation

/// The options of a transport, checked, in the form in which libcurl takes them.
final class CurlSettings: Sendable, CustomReflectable {
    typealias OptionError = CurlTransport.OptionError

    /// A value for libcurl, with the name of the option that it comes from.
    private struct Setting: Sendable {
        let name: String
        let option: CurlLastingOption
        let value: String
    }

    /// The settings that determine the route to a server.
    private let settings: [Setting]
    /// `CURL_SSLVERSION_*`
    private let minimumTLSVersion: Int
    /// False if the transport never uses a proxy. Options of proxies are then not set, because this libcurl may lack them.
    private let mayUseProxy: Bool
    private let proxyAuthorities: CurlAuthorities?
    /// The host entries as a list of libcurl. It does not change after `init`, and libcurl only reads it.
    nonisolated(unsafe) private let hostEntries: UnsafeMutableRawPointer?
    let library: CurlLibrary
    let allowsHTTP2: Bool
    let maximumIdleSecondsForWrites: Int
    let usesUnixSocket: Bool
    private let allowsAddress: (@Sendable (IPAddress, String) -> Bool)?
    private let allowsUncheckedProxyTargets: Bool
    /// Looks host names up.
    let resolver: NameResolver
    /// See `CurlTransport.route`.
    let route: String
    /// The name of the options' proxy. `nil` if the environment decides, or there is none.
    private let proxyName: CurlNames.Name?
    private let usesEnvironment: Bool

    /// Checks options.
    /// - Parameters:
    ///   - options: The options.
    ///   - resolver: Looks host names up.
    /// - Throws: `OptionError`.
    init(_ options: CurlTransport.Options, resolver: NameResolver = .shared) throws {
        guard let library = CurlLibrary.shared else {
            throw OptionError(option: nil, reason: "the process has no libcurl, or one before 7.76")
        }
        self.library = library
        allowsHTTP2 = options.allowsHTTP2 && library.speaksHTTP2
        guard (.zero ... .seconds(118)).contains(options.maximumIdleTimeForWrites) else {
            throw OptionError(option: "maximumIdleTimeForWrites", reason: "it is not between 0 and 118 seconds")
        }
        maximumIdleSecondsForWrites = Int(options.maximumIdleTimeForWrites.components.seconds)
        usesUnixSocket = options.unixSocketPath != nil
        guard !usesUnixSocket || options.allowsAddress == nil else {
            throw OptionError(option: "allowsAddress", reason: "a unix socket has no IP address")
        }
        (allowsAddress, allowsUncheckedProxyTargets) = (options.allowsAddress, options.allowsUncheckedProxyTargets)
        self.resolver = resolver
        minimumTLSVersion = [TLSVersion.v1_0: 4, .v1_1: 5, .v1_2: 6, .v1_3: 7][options.minimumTLSVersion] ?? 6
        var settings: [Setting] = []
        func add(_ name: String, _ option: CurlLastingOption, _ value: String) {
            settings.append(Setting(name: name, option: option, value: value))
        }
        switch options.proxy {
        case .environment: (mayUseProxy, usesEnvironment, proxyName, proxyAuthorities) = (true, options.unixSocketPath == nil, nil, nil)
        case .direct:
            (mayUseProxy, usesEnvironment, proxyName, proxyAuthorities) = (false, false, nil, nil)
            add("proxy", .proxy, "")
        case .url(let url, let username, let password, let authorities):
            let proxy = try CurlOptionCheck.proxy(url, username, password)
            (mayUseProxy, usesEnvironment, proxyName) = (true, false, CurlNames.Name(ofProxy: proxy.address))
            proxyAuthorities = authorities.map { CurlAuthorities($0.pem) }
            add("proxy", .proxy, proxy.address)
            // Otherwise `no_proxy` of the environment would count as well.
            add("proxy", .proxyExceptions, "")
            if let username = proxy.username { add("proxy", .proxyUser, username) }
            if let password = proxy.password { add("proxy", .proxyPassword, password) }
        }
        if let path = options.unixSocketPath { add("unixSocketPath", .unixSocket, try CurlOptionCheck.unixSocket(path)) }
        if let name = options.localInterface { add("localInterface", .interface, try CurlOptionCheck.interface(name)) }
        self.settings = settings
        route = Self.route(settings, options.hostEntries)
        let lines = try options.hostEntries.map { try CurlOptionCheck.hostEntry($0) + "\0" }.joined()
        hostEntries = CurlHeaderLines.list(lines)
        guard lines.isEmpty || hostEntries != nil else {
            throw OptionError(option: "hostEntries", reason: "libcurl has no memory")
        }
        try tryOut()
    }

    deinit { if let hostEntries { ness_curl_list_free(hostEntries) } }

    /// Describes the route to a server. The values may be secret.
    private static func route(_ settings: [Setting], _ entries: [CurlTransport.HostEntry]) -> String {
        let parts = settings.flatMap { ["\($0.option.number)", $0.value] } + entries.flatMap { [$0.host, "\($0.port)"] + $0.addresses }
        return parts.map { "\($0.utf8.count) \($0) " }.joined()
    }

    /// No children, because some are secret.
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Sets the options on a handle that is then discarded, to find a missing feature early.
    private func tryOut() throws {
        guard let handle = CurlHandle.make() else { throw OptionError(option: nil, reason: "libcurl has no memory") }
        try apply(to: handle)
    }

    /// Sets the options of a handle.
    /// - Throws: `OptionError`.
    func apply(to handle: CurlHandle) throws {
        try Self.naming("minimumTLSVersion") {
            try handle.setOnce(.tlsVersion, minimumTLSVersion)
            if mayUseProxy { try handle.setOnce(.proxyTLSVersion, minimumTLSVersion) }
        }
        for setting in settings { try Self.naming(setting.name) { try handle.setOnce(setting.option, setting.value) } }
        if let proxyAuthorities { try Self.naming("proxy") { try proxyAuthorities.apply(to: handle, ofProxy: true) } }
        if let hostEntries { try Self.naming("hostEntries") { try handle.set(.hostEntries, hostEntries) } }
    }

    /// Returns the name of the proxy that requests may use. `nil` if they use none. Only libcurl knows what `no_proxy` exempts.
    func proxyName(for scheme: String) -> CurlNames.Name? {
        guard usesEnvironment else { return proxyName }
        return ProxyEnvironment.proxy(for: scheme).map { CurlNames.Name(ofProxy: $0) }
    }

    /// Returns the name of the proxy that a request uses. It may be wrong if libcurl reads `no_proxy` differently, so it serves errors
    /// only.
    func proxy(for origin: ParsedURL.Origin) -> CurlNames.Name? {
        guard usesEnvironment else { return proxyName }
        return ProxyEnvironment.proxy(for: origin).map { CurlNames.Name(ofProxy: $0) }
    }

    /// Makes the check of a transfer's addresses, and binds the transfer to the proxy that was checked. `nil` for a transport that allows
    /// all.
    /// - Throws: `TransportError`.
    func addressCheck(for origin: ParsedURL.Origin, on handle: CurlHandle) throws -> AddressCheck? {
        guard let allowsAddress else { return nil }
        let address = usesEnvironment ? ProxyEnvironment.proxy(for: origin) : nil
        if usesEnvironment {
            // libcurl reads the environment as well, and may choose another proxy.
            try handle.set(.proxyOfRequest, address ?? "")
            try handle.set(.proxyExceptionsOfRequest, "")
        }
        return try AddressCheck(
            allowsAddress, target: CurlNames.Name(host: origin.host.text, port: origin.port ?? 0),
            proxy: proxyName ?? address.map { CurlNames.Name(ofProxy: $0) },
            allowsUnknown: allowsUncheckedProxyTargets)
    }

    /// Adds the name of an option to an error.
    private static func naming(_ option: String, _ set: () throws -> Void) throws {
        do { try set() } catch { throw OptionError(option: option, reason: (error as? TransportError)?.reason ?? "\(error)") }
    }
}
#endif
