import HTTPTypes
import HummingbirdCore
import NIOCore

/// The field `Host` of a client's request (RFC 9112, 3.2).
enum HostField {
    /// Checks that the request has one such field, and that it is a host with or without a port.
    ///
    /// Hummingbird does not tell the version of a request, so one of HTTP/1.0 needs the field as well.
    /// - Throws: `Refusal` with 400.
    static func check(_ request: Request) throws {
        // HTTPTypes takes the first field out. Servers do not agree on which one counts.
        let isRepeated = HTTPField.Name("Host").map(request.headers.contains) == true
        guard !isRepeated, let value = request.head.authority, isValid(value.utf8) else { throw Refusal(400) }
    }

    private static func isValid(_ value: String.UTF8View) -> Bool {
        // The colons of an IPv6 address stand between brackets.
        let bracket = value.first == UInt8(ascii: "[") ? value.firstIndex(of: UInt8(ascii: "]")) : nil
        let end = bracket.map { value.index(after: $0) } ?? value.firstIndex(of: UInt8(ascii: ":")) ?? value.endIndex
        return isHost(value[..<end], isBracketed: bracket != nil) && isPort(value[end...])
    }

    /// Checks a host (RFC 3986, 3.2.2). It must not be empty in an `http` URL (RFC 9110, 4.2.1).
    private static func isHost(_ host: Substring.UTF8View, isBracketed: Bool) -> Bool {
        guard isBracketed else { return !host.isEmpty && host.isPercentEncoded(allowing: nameBytes) }
        let address = host.dropFirst().dropLast()
        // No zone, which has a meaning on one machine only.
        guard address.allSatisfy(addressBytes.contains), let text = String(address) else { return false }
        return (try? SocketAddress(ipAddress: text, port: 0))?.protocol == .inet6
    }

    private static func isPort(_ port: Substring.UTF8View) -> Bool {
        let digits = port.dropFirst()
        guard port.isEmpty || port.first == UInt8(ascii: ":"), digits.allSatisfy(isDigit) else { return false }
        return digits.isEmpty || String(digits).flatMap { UInt16($0) } != nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static let nameBytes = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=".utf8)
    private static let addressBytes = Set("abcdefABCDEF0123456789:.".utf8)
}
