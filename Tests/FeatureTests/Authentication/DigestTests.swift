import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

@Suite("Digest: challenges and responses (RFC 7616)", .inTurn)
struct DigestTests {
    private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

    /// The fields of the RFC's example, 3.9.1.
    private static func challenge(_ algorithm: String?, _ more: String = "") -> String {
        let named = algorithm.map { ", algorithm=\($0)" } ?? ""
        return #"Digest realm="http-auth@example.org", qop="auth, auth-int""# + named + #", nonce="\#(nonce)""#
            + #", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""# + more
    }

    private static func answer(
        _ field: String, user: String = "Mufasa", password: String = "Circle of Life", target: String = "/dir/index.html", count: Int = 1
    ) throws -> String {
        let challenge = try #require(DigestChallenge.first(in: [field]))
        return challenge.answer(user: user, password: password, method: "GET", target: target, count: count, clientNonce: clientNonce)
    }

    @Test("MD5 and SHA-256 are right for strings of every length up to three blocks") func everyLength() {
        let texts = (0...192).map { length in (0..<length).map { UInt8(truncatingIfNeeded: $0 * 7) } }
        // The hashes of all hashes in a row, by Python's hashlib.
        #expect(MD5Hash.digest(of: texts.flatMap { MD5Hash.digest(of: $0) }).hexadecimal == "3422a88327c383ef385aa6c83725dd3e")
        #expect(
            SHA256Hash.digest(of: texts.flatMap { SHA256Hash.digest(of: $0) }).hexadecimal
                == "f7de515a7bd64de06cd0cfdbb0da87ce309206d794f2c683477993c391e25258")
    }

    @Test(
        "the computed responses equal the examples of RFC 7616, 3.9.1, including the session forms",
        arguments: [
            (nil, 1, "8ca523f5e9506fed4657c9700eebdbec"), ("MD5", 1, "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", 1, "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
            ("md5-SESS", 2, "6914b51e16f9459d9abc967ad41c4599"),
            ("SHA-256-sess", 2, "6bb0010aa4bdf46422a798c509ea32e256f27bd37de5cc3bdf8ed51e1d77d650"),
        ])
    func theExamples(algorithm: String?, count: Int, response: String) throws {
        let answer = try Self.answer(Self.challenge(algorithm), count: count)
        #expect(answer.hasPrefix(#"Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", "#))
        #expect(answer.contains(#"response="\#(response)""#))
        #expect(answer.contains("nc=0000000\(count), "))
        #expect(answer.contains(#"nonce="\#(Self.nonce)", "#) && answer.contains(#"cnonce="\#(Self.clientNonce)", qop=auth, "#))
        #expect(answer.contains(#"opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#))
        #expect(answer.contains("algorithm=") == (algorithm != nil))
        #expect(!answer.contains("userhash"))
    }

    @Test("a challenge without qop gets the response of RFC 2069, 2.4, without count and client nonce")
    func legacy() throws {
        let field =
            #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41""#
        // The password as the RFC's later readers found it: erratum 749 corrects the response.
        let answer = try Self.answer(field, password: "CircleOfLife")
        #expect(
            answer == #"Digest username="Mufasa", realm="testrealm@host.com", uri="/dir/index.html", "#
                + #"nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", response="1949323746fe6a43ef61f9606e7febea", "#
                + #"opaque="5ccc069c403ebaf9f0171e9517f40e41""#)
        // A session's secret contains the client's nonce, which the server has to know.
        let session = try Self.answer(field + ", algorithm=MD5-sess", password: "CircleOfLife")
        #expect(session.contains(#", cnonce="\#(Self.clientNonce)", response=""#) && !session.contains("nc=") && !session.contains("qop"))
    }

    @Test(
        "a challenge with qop is preferred to one without, in every order",
        arguments: [
            [#"Digest realm="1", nonce="n", Digest realm="2", nonce="n", qop="auth""#],
            [#"Digest realm="2", nonce="n", qop="auth", Digest realm="1", nonce="n", algorithm=SHA-256"#],
            [#"Digest realm="1", nonce="n""#, #"Digest realm="2", nonce="n", qop=auth, algorithm=MD5"#],
        ])
    func preferred(fields: [String]) { #expect(DigestChallenge.first(in: fields)?.realm == "2") }

    @Test("a user name beyond ASCII is sent as RFC 7616, 3.4.4, requires, plain or hashed") func userNames() throws {
        let field = #"Digest realm="api@example.org", qop="auth", algorithm=SHA-256, nonce="\#(Self.nonce)", charset=UTF-8"#
        // The name is made of a letter and a combining mark; it is hashed in normalization form C.
        let (user, password) = ("Ja\u{308}s\u{F8}n Doe", "Secret, or not?")
        let plain = try Self.answer(field, user: user, password: password, target: "/doe.json")
        #expect(plain.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, "))
        #expect(plain.contains(#"response="913169fa139e6b865c402c5ac02b894a9f4bc5ad37d6d41075fce92e6d237929""#))
        let hashed = try Self.answer(field + ", userhash=true", user: user, password: password, target: "/doe.json")
        #expect(hashed.contains(#"username="5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7", "#))
        #expect(
            hashed.contains(#"response="913169fa139e6b865c402c5ac02b894a9f4bc5ad37d6d41075fce92e6d237929""#)
                && hashed.hasSuffix(", userhash=true"))
        let quoted = try Self.answer(field, user: #"a"b\c"#)
        #expect(quoted.contains(#"username="a\"b\\c", "#))
        #expect(try !Self.answer(field, user: "a\r\nX: b").contains("\n"))
    }

    @Test("the nonce count is written as eight hexadecimal digits") func theNonceIsCounted() throws {
        #expect(try Self.answer(Self.challenge("MD5"), count: 0xABCDEF).contains("nc=00abcdef, "))
        #expect(try Self.answer(Self.challenge("MD5"), count: 0x1_0000_0000).contains("nc=100000000, "))
    }

    @Test(
        "the first supported challenge is used",
        arguments: [
            ([#"Basic realm="a, Digest b=c""#, #"Digest realm="r", nonce="n", qop="auth""#], "r"),
            ([#"Negotiate abc/+==, digest REALM=r , Nonce = "n",qop=auth, Basic realm="b""#], "r"),
            ([#"Digest realm="1", nonce="n", qop="auth", algorithm=SHA-512-256, Digest realm="2", nonce="n", qop="auth""#], "2"),
            ([#"Digest realm="1", nonce="n", qop="auth-int", Digest realm="2", nonce="n", qop="auth-int,auth""#], "2"),
            ([#"Digest realm="1", qop="auth"#, #"Digest realm="a\"b", nonce="n", qop="auth""#], #"a\"b"#),
            ([#",, Digest realm="r",, nonce="n", qop="auth",realm="s","#], "r"),
        ])
    func challenges(fields: [String], realm: String) {
        #expect(DigestChallenge.first(in: fields)?.realm == realm)
    }

    @Test(arguments: [
        "", "Digest", "Basic realm=\"Digest\"", "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"",
        "Digest realm=\"r\", nonce=\"n\", qop=\"\"", "Digest realm=\"r\", qop=\"auth\"", "=,\"\\",
        "Digest =\"",
        "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=MD4", "\"Digest\" realm=r", "Digest realm=\"r nonce=\"n\" qop=\"auth\"",
        "Digest realm=\"a\u{7f}b\", nonce=\"n\", qop=\"auth\"", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", opaque=\"\u{1}\"",
    ]) func whatIsNoChallenge(field: String) {
        #expect(DigestChallenge.first(in: [field]) == nil)
    }
}
