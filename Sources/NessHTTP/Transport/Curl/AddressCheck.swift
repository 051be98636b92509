#if os(Linux)
/// The check of the addresses that a transfer may connect to: see `CurlTransport.Options.allowsAddress`.
struct AddressCheck {
    private let allows: @Sendable (IPAddress, String) -> Bool
    /// The host whose addresses libcurl connects to: the proxy, or else the URL's host.
    private let host: String
    /// The host as errors show it.
    private let shownHost: String
    /// The latest address that was rejected. `nil` once an address was allowed.
    private var rejected: String?
    private var hasAllowed = false

    /// Makes the check of a transfer.
    /// - Parameters:
    ///   - allows: The rule of the transport.
    ///   - target: The URL's host.
    ///   - proxy: The proxy of the transfer; `nil` for none.
    ///   - allowsUnknown: True if a proxy may connect to a host whose address is not known here.
    /// - Throws: `TransportError` of the kind `addressRejected` if the proxy must not connect to the host.
    init(
        _ allows: @escaping @Sendable (IPAddress, String) -> Bool, target: CurlNames.Name, proxy: CurlNames.Name?, allowsUnknown: Bool
    ) throws {
        (self.allows, host, shownHost) = (allows, (proxy ?? target).host, proxy.map { "the proxy \($0)" } ?? target.host)
        guard let proxy else { return }
        let addresses = IPAddress(anyForm: target.host).map { [$0] } ?? (target.knownAddresses ?? []).compactMap { IPAddress($0) }
        for address in addresses where !allows(address, target.host) { throw Self.rejection("\(address)", of: target.host) }
        if addresses.isEmpty, !allowsUnknown {
            throw Self.rejection("the address of \(target.host) is not known: the proxy \(proxy) connects to it")
        }
    }

    /// Returns true if the transfer may connect to an address. `nil` stands for another kind of address, such as that of a unix socket.
    mutating func allows(_ address: IPAddress?) -> Bool {
        let isAllowed = address.map { allows($0, host) } ?? false
        hasAllowed = hasAllowed || isAllowed
        rejected = hasAllowed ? nil : address?.description ?? "(a unix socket)"
        return isAllowed
    }

    /// Forgets the earlier decisions, before another connection is opened.
    mutating func begin() { (rejected, hasAllowed) = (nil, false) }

    /// The error if every address was rejected. `nil` if no address was checked, or if one was allowed.
    var rejection: TransportError? { rejected.map { Self.rejection($0, of: shownHost) } }

    private static func rejection(_ address: String, of host: String) -> TransportError {
        rejection(address == host ? "the address \(host) is not allowed" : "the address \(address) of \(host) is not allowed")
    }

    private static func rejection(_ reason: String) -> TransportError {
        var error = TransportError(.addressRejected, "\(reason) (allowsAddress)")
        error.repetition = .always
        return error
    }
}
#endif
