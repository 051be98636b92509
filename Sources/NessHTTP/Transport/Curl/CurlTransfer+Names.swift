#if os(Linux)
import CNessCurl

/// The names that libcurl needs for a transfer: the engine looks them up, because libcurl would block its thread.
extension CurlTransfer {
    /// Returns true if libcurl may look a name up itself: one with known addresses, which blocks nothing, or one that only libcurl can
    /// read.
    func mayLookUp() -> Bool {
        guard history.takeMove() else { return false }
        let host = host, proxy = loop.settings.proxyName(for: exchange.origin.scheme)
        return names.mayLookUp { host?.knownAddresses != nil && proxy == nil }
    }

    /// The name of the URL's host. `nil` for a name that only libcurl can read: one with non-ASCII letters, or with a zone.
    private var host: CurlNames.Name? {
        let host = exchange.origin.host.text
        guard host.utf8.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "%") }) else { return nil }
        return CurlNames.Name(host: host, port: exchange.origin.port ?? 0)
    }

    /// Returns the name that libcurl needs. `nil` if libcurl shall look it up itself.
    /// - Parameter code: The CURLcode with which libcurl ended the transfer.
    func nameToLookUp(_ code: Int32) -> CurlNames.Name? {
        names.take(usesProxy(code) ? [loop.settings.proxyName(for: exchange.origin.scheme), host] : [host])
    }

    /// Gives libcurl the addresses of a name. Call this while libcurl does not have the handle.
    /// - Throws: `TransportError` if libcurl does not take them.
    func setAddresses(_ addresses: [String], of name: CurlNames.Name) throws {
        guard let lines = names.lines(addresses, of: name) else { return }
        handle.isAltered = true
        try handle.setAddresses(lines)
        try setConnectTimeout()
    }
}
#endif
