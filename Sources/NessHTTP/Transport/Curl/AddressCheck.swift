#if os(Linux)
/// The check of the addresses that a transfer may connect to: see `CurlTransport.Options.allowsAddress`.
struct AddressCheck {
    private let allows: @Sendable (IPAddress, String) -> Bool
    /// The host whose addresses libcurl connects to: the proxy, or else the URL's host.
    private let host: String
    /// The host as errors show it.
    private let shownHost: String
    private var verdict = Verdict.none

    /// The verdict on the checked addresses: none was checked, all were rejected (with the latest one), or one was allowed.
    private enum Verdict { case none, rejected(String), allowed }

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
        self.allows = allows
        host = (proxy ?? target).host
        shownHost = proxy.map { "the proxy \($0)" } ?? target.host
        guard let proxy else { return }
        let known = (target.knownAddresses ?? []).compactMap { IPAddress($0) }
        let addresses = if let literal = IPAddress(anyForm: target.host) { [literal] } else { known }
        for address in addresses where !allows(address, target.host) { throw Self.rejection("\(address)", of: target.host) }
        if addresses.isEmpty, !allowsUnknown {
            throw Self.rejection("the address of \(target.host) is not known: the proxy \(proxy) connects to it")
        }
    }

    /// Returns true if the transfer may connect to an address. `nil` stands for another kind of address, such as that of a unix socket.
    mutating func allows(_ address: IPAddress?) -> Bool {
        let isAllowed = address.map { allows($0, host) } ?? false
        if isAllowed { verdict = .allowed }
        if case .allowed = verdict { return isAllowed }
        verdict = .rejected(address?.description ?? "(a unix socket)")
        return false
    }

    /// Forgets the earlier decisions, before another connection is opened.
    mutating func begin() { verdict = .none }

    /// The error if every address was rejected. `nil` if no address was checked, or if one was allowed.
    var rejection: TransportError? { if case .rejected(let address) = verdict { Self.rejection(address, of: shownHost) } else { nil } }

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
