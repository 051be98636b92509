#if os(Linux)
import CNessCurl
import Foundation

/// The options of a transport, checked, in the form in which libcurl takes them.
final class CurlSettings: Sendable, CustomReflectable {
    typealias OptionError = CurlTransport.OptionError

    /// A value for libcurl, with the name of the option that it comes from.
    private struct Setting: Sendable {
        enum Value: Sendable {
            case number(Int)
            case text(String)
            case proxyAuthorities(CurlAuthorities)
        }

        let option: String
        let number: Int32
        let value: Value
    }

    private let settings: [Setting]
    /// The host entries as a list of libcurl. It does not change after `init`, and libcurl only reads it.
    nonisolated(unsafe) private let hostEntries: UnsafeMutableRawPointer?
    let library: CurlLibrary
    let allowsHTTP2: Bool
    let maximumIdleConnections: Int?
    let maximumIdleSecondsForWrites: Int
    let usesUnixSocket: Bool
    /// See `CurlTransport.route`.
    let route: String
    /// The name of the options' proxy. `nil` if the environment decides, or there is none.
    private let proxyName: CurlNames.Name?
    private let usesEnvironment: Bool

    /// Checks options.
    /// - Throws: `OptionError`.
    init(_ options: CurlTransport.Options) throws {
        guard let library = CurlLibrary.shared else {
            throw OptionError(kind: .noLibrary, option: "", reason: "the process has no libcurl, or one before 7.76")
        }
        self.library = library
        allowsHTTP2 = options.allowsHTTP2 && library.speaksHTTP2
        guard options.maximumIdleConnections.map({ $0 >= 0 && $0 <= 1 << 20 }) != false else {
            throw OptionError(kind: .invalidValue, option: "maximumIdleConnections", reason: "it is negative or too large")
        }
        maximumIdleConnections = options.maximumIdleConnections
        guard (.zero ... .seconds(118)).contains(options.maximumIdleTimeForWrites) else {
            throw OptionError(kind: .invalidValue, option: "maximumIdleTimeForWrites", reason: "it is not between 0 and 118 seconds")
        }
        maximumIdleSecondsForWrites = Int(options.maximumIdleTimeForWrites.components.seconds)
        usesUnixSocket = options.unixSocketPath != nil
        var settings: [Setting] = []
        func add(_ option: String, _ number: Int32, _ value: Setting.Value) {
            settings.append(Setting(option: option, number: number, value: value))
        }
        // CURL_SSLVERSION_TLSv1_0 to CURL_SSLVERSION_TLSv1_3
        let version = [TLSVersion.v1_0: 4, .v1_1: 5, .v1_2: 6, .v1_3: 7][options.minimumTLSVersion] ?? 6
        add("minimumTLSVersion", CurlOption.tlsVersion, .number(version))
        var proxyName: CurlNames.Name?
        var usesEnvironment = false
        switch options.proxy {
        case .environment: usesEnvironment = options.unixSocketPath == nil
        case .direct: add("proxy", CurlOption.proxy, .text(""))
        case .url(let url, let username, let password, let authorities):
            let proxy = try CurlOptionCheck.proxy(url, username, password)
            let (host, port) = ProxyEnvironment.hostAndPort(of: proxy.address)
            proxyName = CurlNames.Name(host: host, port: port)
            add("proxy", CurlOption.proxy, .text(proxy.address))
            // Otherwise `no_proxy` of the environment would count as well.
            add("proxy", CurlOption.proxyExceptions, .text(""))
            if let username = proxy.username { add("proxy", CurlOption.proxyUser, .text(username)) }
            if let password = proxy.password { add("proxy", CurlOption.proxyPassword, .text(password)) }
            if let authorities { add("proxy", CurlOption.proxyAuthorities, .proxyAuthorities(CurlAuthorities(authorities.pem))) }
        }
        if case .direct = options.proxy {
        } else {
            add("minimumTLSVersion", CurlOption.proxyTLSVersion, .number(version))
        }
        if let path = options.unixSocketPath {
            add("unixSocketPath", CurlOption.unixSocket, .text(try CurlOptionCheck.unixSocket(path)))
        }
        if let name = options.localInterface {
            add("localInterface", CurlOption.interface, .text(try CurlOptionCheck.interface(name)))
        }
        self.settings = settings
        route = Self.route(settings, options.hostEntries)
        (self.proxyName, self.usesEnvironment) = (proxyName, usesEnvironment)
        let lines = try options.hostEntries.map { try CurlOptionCheck.hostEntry($0) + "\0" }.joined()
        hostEntries = CurlHeaderLines.list(lines)
        guard lines.isEmpty || hostEntries != nil else {
            throw OptionError(kind: .unsupported, option: "hostEntries", reason: "libcurl has no memory")
        }
        try tryOut()
    }

    deinit { if let hostEntries { ness_curl_list_free(hostEntries) } }

    /// Describes the settings that decide on the way to a server. The values may be secret.
    private static func route(_ settings: [Setting], _ entries: [CurlTransport.HostEntry]) -> String {
        let decisive = settings.filter { ["proxy", "unixSocketPath", "localInterface"].contains($0.option) }
        let parts: [String] = decisive.flatMap { setting -> [String] in
            let value =
                switch setting.value {
                case .number(let number): "\(number)"
                case .text(let text): text
                case .proxyAuthorities: ""
                }
            return ["\(setting.number)", value]
        }
        let hosts = entries.flatMap { [$0.host, "\($0.port)"] + $0.addresses }
        return (parts + hosts).map { "\($0.utf8.count) \($0) " }.joined()
    }

    /// No children, because some are secret.
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Sets the options of a handle that is not used, so that a missing feature is known early.
    private func tryOut() throws {
        guard let easy = ness_curl_easy_init() else {
            throw OptionError(kind: .unsupported, option: "", reason: "libcurl has no memory")
        }
        defer { ness_curl_easy_cleanup(easy) }
        try apply(to: easy)
    }

    /// Sets the options of a handle.
    /// - Throws: `OptionError`.
    func apply(to easy: UnsafeMutableRawPointer) throws {
        for setting in settings {
            let code =
                switch setting.value {
                case .number(let value): ness_curl_set_long(easy, setting.number, value)
                case .text(let text): ness_curl_set_text(easy, setting.number, text)
                case .proxyAuthorities(let authorities): authorities.apply(to: easy, ofProxy: true)
                }
            try Self.check(code, setting.option)
        }
        if let hostEntries { try Self.check(ness_curl_set_pointer(easy, CurlOption.hostEntries, hostEntries), "hostEntries") }
    }

    /// Returns the name of the proxy that requests may use. `nil` if they use none. Only libcurl knows what `no_proxy` exempts.
    func proxyName(for scheme: String) -> CurlNames.Name? {
        guard usesEnvironment, let proxy = ProxyEnvironment.proxy(for: scheme) else { return proxyName }
        let (host, port) = ProxyEnvironment.hostAndPort(of: proxy)
        return CurlNames.Name(host: host, port: port)
    }

    private static func check(_ code: Int32, _ option: String) throws {
        guard code != 0 else { return }
        // CURLE_UNSUPPORTED_PROTOCOL, CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION
        let kind: OptionError.Kind = [1, 4, 48].contains(code) ? .unsupported : .invalidValue
        throw OptionError(kind: kind, option: option, reason: "libcurl rejected it: \(CurlError.text(code))")
    }
}
#endif
