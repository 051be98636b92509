#if os(Linux)
import Foundation

/// An IPv4 or IPv6 address.
///
/// An IPv4 address that is mapped into IPv6, such as `::ffff:192.0.2.1`, becomes the IPv4 address, because the system connects to that one.
/// The zone of a link-local address is not part of the value.
public struct IPAddress: Sendable, Hashable, LosslessStringConvertible {
    /// The bytes in network order: 4 for IPv4, 16 for IPv6.
    public let bytes: [UInt8]

    /// Makes an address of bytes in network order. Fails unless there are 4 or 16.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        self.bytes = Array(isMapped ? bytes[12...] : bytes[...])
    }

    /// Reads an address in its usual form, such as `192.0.2.1` or `2001:db8::1`, without brackets, zone or port.
    /// - Parameter description: The address. Other text makes the initializer fail.
    public init?(_ description: String) {
        // The C functions read only up to a zero byte.
        if description.utf8.contains(0) { return nil }
        var four = in_addr(), sixteen = in6_addr()
        if inet_pton(AF_INET, description, &four) == 1 {
            self.init(of: four)
        } else if inet_pton(AF_INET6, description, &sixteen) == 1 {
            self.init(of: sixteen)
        } else {
            return nil
        }
    }

    /// Reads an address in every form that resolvers take, such as `2130706433` or `0x7f.1` for 127.0.0.1.
    init?(anyForm text: String) {
        var four = in_addr()
        if !text.utf8.contains(0), inet_aton(text, &four) != 0 {
            self.init(of: four)
        } else {
            self.init(String(text.prefix { $0 != "%" }))
        }
    }

    private init?<Address>(of address: Address) {
        guard let made = withUnsafeBytes(of: address, { IPAddress($0.bindMemory(to: UInt8.self)) }) else { return nil }
        self = made
    }

    /// The address in its usual form: RFC 5952 for IPv6.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? ""
    }

    /// Returns addresses as one value for libcurl, with IPv6 in brackets.
    static func list(_ addresses: [String]) -> String { addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",") }
}

/// Addresses of the public internet.
extension IPAddress {
    /// A rule for `CurlTransport.Options.allowsAddress` that allows public addresses only: see `isPublic`.
    public static let publicOnly: @Sendable (_ address: IPAddress, _ host: String) -> Bool = { address, _ in address.isPublic }

    /// True for an address that may belong to a host on the public internet.
    ///
    /// False for addresses of this machine, of private networks and of clouds' metadata services, for multicast, and for all other ranges
    /// that IANA's registries of special-purpose addresses do not call globally reachable. IPv6 addresses outside of 2000::/3 are never
    /// public. An address of the translation from IPv6 to IPv4 (NAT64, `64:ff9b::/96`) is judged by the IPv4 address in it. The tunnels
    /// 6to4 and Teredo, which contain IPv4 addresses, are not public.
    public var isPublic: Bool {
        if let translated { return translated.isPublic }
        return Self.ranges.filter { $0.range.contains(self) }.max { $0.range.length < $1.range.length }?.isPublic ?? false
    }

    /// The IPv4 address in an address of NAT64 (RFC 6052, 2.1). `nil` for any other address.
    private var translated: IPAddress? {
        guard Self.translation?.contains(self) == true else { return nil }
        return bytes.withUnsafeBufferPointer { IPAddress(UnsafeBufferPointer(rebasing: $0[12...])) }
    }

    private static let translation = IPRange("64:ff9b::/96")

    /// IANA's registries of special-purpose addresses, of October 2025. The range with the longest prefix that contains an address decides
    /// about it.
    private static let ranges: [(range: IPRange, isPublic: Bool)] = {
        let isPublic = [
            "0.0.0.0/0": true, "2000::/3": true,
            // This network, private networks, carriers' NAT, this machine, link-local addresses.
            "0.0.0.0/8": false, "10.0.0.0/8": false, "100.64.0.0/10": false, "127.0.0.0/8": false, "169.254.0.0/16": false,
            "172.16.0.0/12": false, "192.168.0.0/16": false,
            // Assignments to protocols, except for the anycast addresses of PCP and TURN.
            "192.0.0.0/24": false, "192.0.0.9/32": true, "192.0.0.10/32": true,
            // Documentation, relays of 6to4, benchmarks.
            "192.0.2.0/24": false, "198.51.100.0/24": false, "203.0.113.0/24": false, "192.88.99.0/24": false, "198.18.0.0/15": false,
            // Multicast and reserved addresses.
            "224.0.0.0/3": false,
            // Assignments to protocols, Teredo among them, except for anycast addresses, AMT, AS112, ORCHIDv2 and DRIP.
            "2001::/23": false, "2001:1::1/128": true, "2001:1::2/128": true, "2001:1::3/128": true, "2001:3::/32": true,
            "2001:4:112::/48": true, "2001:20::/28": true, "2001:30::/28": true,
            // Documentation, 6to4.
            "2001:db8::/32": false, "3fff::/20": false, "2002::/16": false,
        ]
        return isPublic.compactMap { text, isPublic in IPRange(text).map { ($0, isPublic) } }
    }()
}

/// A range of addresses, such as `10.0.0.0/8`.
struct IPRange: Sendable {
    private let start: [UInt8]
    /// The number of bits that the addresses have in common.
    let length: Int

    /// Reads a range. Fails for other text, and for more bits than the address has.
    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let start = IPAddress(String(parts[0]))?.bytes, let length = Int(parts[1]),
            (0...start.count * 8).contains(length)
        else { return nil }
        (self.start, self.length) = (start, length)
    }

    /// Returns true for an address in the range.
    func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == start.count else { return false }
        return zip(start, address.bytes).enumerated().allSatisfy { index, pair in
            let bits = min(max(length - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> UInt8(8 - bits) == 0
        }
    }
}
#endif
