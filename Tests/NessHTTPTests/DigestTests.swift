import Foundation
import NessTesting
import Testing

@testable import NessHTTP

@Suite("Digest: challenges and answers (RFC 7616)", .inTurn)
struct DigestTests {
    private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

    /// The fields of the RFC's example, 3.9.1.
    private static func challenge(_ algorithm: String?, _ more: String = "") -> String {
        let named = algorithm.map { ", algorithm=\($0)" } ?? ""
        return #"Digest realm="http-auth@example.org", qop="auth, auth-int""# + named + #", nonce="\#(nonce)""#
            + #", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""# + more
    }

    static func credentials(_ user: String, _ password: String) -> DigestCredentials {
        DigestCredentials(user: user, password: password) { $0 == .md5 ? TestHash.md5($1) : TestHash.sha256($1) }
    }

    private static func answer(
        _ field: String, _ credentials: DigestCredentials = credentials("Mufasa", "Circle of Life"), target: String = "/dir/index.html",
        count: Int = 1
    ) throws -> String {
        let challenge = try #require(DigestChallenge.first(in: [field]))
        return credentials.answer(challenge, method: "GET", target: target, count: count, clientNonce: clientNonce)
    }

    @Test func theHashesAreRight() {
        let texts = ["", "abc", String(repeating: "a", count: 119)]
        #expect(
            texts.map { TestHash.hexadecimal(TestHash.md5(Data($0.utf8))) }.prefix(2)
                == ["d41d8cd98f00b204e9800998ecf8427e", "900150983cd24fb0d6963f7d28e17f72"])
        #expect(
            texts.map { TestHash.hexadecimal(TestHash.sha256(Data($0.utf8))) } == [
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb",
            ])
    }

    @Test(
        "the examples of RFC 7616, 3.9.1, and the session forms",
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

    @Test("a user's name that is not ASCII, plain and hashed (RFC 7616, 3.4.4)") func userNames() throws {
        let field = #"Digest realm="api@example.org", qop="auth", algorithm=SHA-256, nonce="\#(Self.nonce)", charset=UTF-8"#
        // The name is made of a letter and a combining mark; it is hashed in normalization form C.
        let credentials = Self.credentials("Ja\u{308}s\u{F8}n Doe", "Secret, or not?")
        let plain = try Self.answer(field, credentials, target: "/doe.json")
        #expect(plain.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, "))
        #expect(plain.contains(#"response="913169fa139e6b865c402c5ac02b894a9f4bc5ad37d6d41075fce92e6d237929""#))
        let hashed = try Self.answer(field + ", userhash=true", credentials, target: "/doe.json")
        #expect(hashed.contains(#"username="5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7", "#))
        #expect(
            hashed.contains(#"response="913169fa139e6b865c402c5ac02b894a9f4bc5ad37d6d41075fce92e6d237929""#)
                && hashed.hasSuffix(", userhash=true"))
        let quoted = try Self.answer(field, Self.credentials(#"a"b\c"#, "x"))
        #expect(quoted.contains(#"username="a\"b\\c", "#))
        #expect(try !Self.answer(field, Self.credentials("a\r\nX: b", "x")).contains("\n"))
    }

    @Test func theNonceIsCounted() throws {
        #expect(try Self.answer(Self.challenge("MD5"), count: 0xABCDEF).contains("nc=00abcdef, "))
        #expect(try Self.answer(Self.challenge("MD5"), count: 0x1_0000_0000).contains("nc=100000000, "))
    }

    @Test(
        "the first challenge that can be answered is",
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
        "", "Digest", "Basic realm=\"Digest\"", "Digest realm=\"r\", nonce=\"n\"", "Digest realm=\"r\", qop=\"auth\"", "=,\"\\",
        "Digest =\"",
        "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=MD4", "\"Digest\" realm=r", "Digest realm=\"r nonce=\"n\" qop=\"auth\"",
    ]) func whatIsNoChallenge(field: String) {
        #expect(DigestChallenge.first(in: [field]) == nil)
    }
}
