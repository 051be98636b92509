#if os(Linux)
import Foundation
import Testing

@testable import NessHTTP

/// The addresses that a rule for connections judges.
@Suite struct IPAddressTests {
    @Test("an address is read in its usual form, and shown in the shortest one; an IPv4 address mapped into IPv6 is the IPv4 address")
    func text() {
        let texts = [
            "192.0.2.1": "192.0.2.1", "2001:DB8:0:0:0:0:0:1": "2001:db8::1", "::": "::", "::ffff:192.0.2.1": "192.0.2.1",
            "::FFFF:c000:0201": "192.0.2.1", "::192.0.2.1": "::192.0.2.1",
        ]
        for (text, shown) in texts { #expect(IPAddress(text)?.description == shown) }
        #expect(IPAddress("::ffff:192.0.2.1") == IPAddress("192.0.2.1"))
        #expect(IPAddress("192.0.2.1")?.bytes == [192, 0, 2, 1])
        for text in ["", "localhost", "1.2.3", "256.0.0.1", "[::1]", "::1%lo", "1.2.3.4\0", "1.2.3.4:80", "2130706433"] {
            #expect(IPAddress(text) == nil, "\(text)")
        }
    }

    @Test("an address in a notation that only resolvers take is recognized")
    func notations() {
        for text in ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1", "::ffff:7f00:1"] {
            #expect(IPAddress(anyForm: text)?.description == "127.0.0.1", "\(text)")
        }
        #expect(IPAddress(anyForm: "fe80::1%eth0")?.description == "fe80::1")
        for text in ["a.test", "1.2.3.4.5", "0x", "127.0.0.1\0", ""] { #expect(IPAddress(anyForm: text) == nil, "\(text)") }
    }

    @Test(
        "an address of this machine, of a private network or of another special range is not public",
        arguments: [
            // IANA's registry of IPv4, with the first and the last address of each range.
            "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.0", "127.255.255.255",
            "169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.11",
            "192.0.0.170", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255",
            "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.1",
            "239.255.255.255", "240.0.0.0", "255.255.255.255",
            // IANA's registry of IPv6, and what lies outside of the unicast addresses that are assigned.
            "::", "::1", "::7f00:1", "::8.8.8.8", "100::1", "100:0:0:1::1", "2001::1", "2001::8.8.8.8", "2001:1::4", "2001:2::1",
            "2001:10::1", "2001:1ff:ffff::1", "2001:db8::1", "2002::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "3fff:fff:ffff::",
            "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
            // IPv4 addresses in IPv6.
            "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "64:ff9b:1::8.8.8.8", "64:ff9b:0:1::8.8.8.8",
        ])
    func special(_ text: String) throws {
        #expect(try !#require(IPAddress(text)).isPublic)
        #expect(try !IPAddress.publicOnly(#require(IPAddress(text)), "a.test"))
    }

    @Test(
        "an address beside the special ranges is public, and so is one that a registry calls globally reachable",
        arguments: [
            "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
            "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.0.9", "192.0.0.10", "192.0.1.0", "192.0.3.0",
            "192.31.196.1", "192.52.193.1", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "192.175.48.1",
            "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "8.8.8.8",
            "2001:1::1", "2001:1::2", "2001:1::3", "2001:3::1", "2001:4:112::1", "2001:20::1", "2001:2f:ffff::", "2001:3f:ffff::",
            "2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2620:4f:8000::1", "2606:4700::1111", "3ffe:ffff::1", "2000::1",
            "3fff:1000::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
        ])
    func ordinary(_ text: String) throws { #expect(try #require(IPAddress(text)).isPublic) }

    @Test("an invalid range is rejected")
    func ranges() {
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "a.test/8", "/8", "10.0.0.0/x", "10.0.0.0/8/"] {
            #expect(IPRange(text) == nil, "\(text)")
        }
    }
}
#endif
