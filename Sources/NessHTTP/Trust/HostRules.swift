import Foundation

/// Values by host: for a name, for all names below one, or for all hosts. See `ServerTrust` for the form of a host.
///
/// A mistake in the rules fails every request, because it may concern any host.
struct HostRules<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The name of the setting that has the rules, for errors.
    private let setting: String
    private var values: [String: Value] = [:]
    /// The first mistake: a host that is not valid or stands twice, or the error of a value.
    private var mistake: String?

    /// Makes rules.
    /// - Parameters:
    ///   - setting: The name of the setting, for errors.
    ///   - hosts: The rules by host.
    ///   - makeValue: Takes a rule and its host. An error that it throws is a mistake in the rules.
    init<Rule>(_ setting: String, _ hosts: [String: Rule], _ makeValue: (Rule, String) throws -> Value) {
        self.setting = setting
        do {
            for (host, rule) in hosts {
                guard let name = HostName.pattern(host) else { throw InvalidRequest("the host \(host.debugDescription) is not valid") }
                guard values[name] == nil else { throw InvalidRequest("the host \(name) is listed twice") }
                values[name] = try makeValue(rule, host)
            }
        } catch {
            // Without the values, so that rules with the same mistake are equal.
            values = [:]
            mistake = "\(setting): \(error)"
        }
    }

    /// Returns the value that applies to the host of a request; `nil` if no rule matches the host.
    /// - Parameters:
    ///   - request: The request.
    ///   - isNamed: True to leave out the value for all hosts.
    /// - Throws: `InvalidRequest` for a mistake in the rules, and, if there are rules, for a host that no rule can name: it is too long, or
    ///   percent-encoding hid letters outside of ASCII.
    func value(for request: HTTPRequest, isNamed: Bool = false) throws -> Value? {
        if let mistake { throw InvalidRequest(mistake) }
        guard !values.isEmpty, let host = HostName.normal(request.target?.origin.host.text ?? request.url.host ?? "") else { return nil }
        guard host.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else { throw InvalidRequest("\(setting): the host is not in ASCII") }
        // Each label of a host costs a look-up, so the length is limited. No name is longer (RFC 1035, 2.3.4).
        guard host.utf8.count <= 255 else { throw InvalidRequest("\(setting): the host is longer than a name can be") }
        if let value = values[host] { return value }
        var rest = host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            if let value = values["*.\(rest)"] { return value }
        }
        return isNamed ? nil : values["*"]
    }
}

/// Brings the many spellings of a host into one form.
private enum HostName {
    /// Returns the usual form of a name, an address, `*`, or `*.` with a name; `nil` for any other string.
    static func pattern(_ host: String) -> String? {
        if host == "*" { return host }
        let isWildcard = host.startsExactly(with: "*.")
        // The parser of URLs brings a name into the form that it has in a request: Punycode, without percent-encoding.
        let text = isWildcard ? String(Substring(host.utf8.dropFirst(2))) : host
        if let address = address(text) { return isWildcard ? nil : address }
        guard !text.utf8.contains(where: { "/?#@\\*".utf8.contains($0) }), let parts = URLComponents(string: "https://\(text)"),
            parts.port == nil, let encoded = parts.percentEncodedHost, OutgoingCheck.isValidHost(encoded),
            let name = parts.url?.host.flatMap(normal), name.utf8.allSatisfy({ $0 > 32 && $0 < 127 && !"%*".utf8.contains($0) })
        else { return nil }
        return isWildcard ? "*.\(name)" : name
    }

    /// Returns a name in lower case without the dot at its end, which means the same host, or an address in its usual form.
    static func normal(_ host: String) -> String? {
        let lowercased = host.asciiLowercased
        // An address may end with the name of a network interface (RFC 6874), which does not tell servers apart.
        let name = lowercased.contains(":") ? String(lowercased.prefix { $0 != "%" }) : lowercased
        let bare = name.utf8.last == UInt8(ascii: ".") ? String(Substring(name.utf8.dropLast())) : name
        return bare.isEmpty ? nil : address(bare) ?? bare
    }

    /// Returns the usual form of an IP address, which has many: `127.1`, `0x7f000001`, `0::1`. `nil` for a name.
    private static func address(_ host: String) -> String? {
        // The functions below accept other strings as well. An address consists of these characters only.
        guard host.utf8.allSatisfy({ "0123456789abcdefx.:".utf8.contains($0) }) else { return nil }
        var (four, six) = (in_addr(), in6_addr())
        // Four decimal numbers are the usual form.
        if inet_pton(AF_INET, host, &four) == 1 { return host }
        if inet_aton(host, &four) != 0 { return text(AF_INET, &four) }
        return inet_pton(AF_INET6, host, &six) == 1 ? text(AF_INET6, &six) : nil
    }

    private static func text(_ family: Int32, _ address: UnsafeRawPointer) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            inet_ntop(family, address, text.baseAddress, socklen_t(text.count)).map { String(cString: $0) }
        }
    }
}
