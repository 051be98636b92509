import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Credentials from a netrc file.
@Suite struct NetrcTests {
    private static let file = """
        # A comment: machine a.test login wrong
        machine a.test
            login me
            account nobody
            password "two \\"words\\" \\\\ and\\ttabs"
        macdef init
        machine b.test login wrong password wrong

        machine b.test login B password b # machine c.test
        machine B.test login second password second
        machine empty.test
        machine key.test password k
        default login anonymous password me@a.test
        machine late.test login late password late
        """

    @Test(
        "a host has the login and the password of its first entry, or those of an earlier default",
        arguments: [
            ("a.test", "me", "two \"words\" \\ and\ttabs"), ("A.TEST", "me", "two \"words\" \\ and\ttabs"), ("b.test", "B", "b"),
            ("key.test", "", "k"), ("c.test", "anonymous", "me@a.test"), ("late.test", "anonymous", "me@a.test"),
        ])
    func entries(host: String, user: String, password: String) {
        for ending in ["\n", "\r\n"] {
            var reader = NetrcReader(Self.file.replacingOccurrences(of: "\n", with: ending).utf8)
            let found = reader.credential(of: host)
            #expect(found?.user == user && found?.password == password, "\(String(describing: found))")
        }
    }

    @Test(
        "a host without a login and a password has no credential, nor has one in a damaged file",
        arguments: [
            ("empty.test", file), ("a.test", ""), ("a.test", "machine"), ("a.test", "machine a.test login"), ("a.test", "default"),
            ("a.test", "machine a.test.evil login x password y"), ("a.test", "login x password y"),
            ("a.test", "macdef x\nmachine a.test login y"),
        ])
    func none(host: String, file: String) {
        var reader = NetrcReader(file.utf8)
        #expect(reader.credential(of: host) == nil)
    }

    @Test("a request carries the credential of the file; without a file there is none, and an unreadable one is an error")
    func requests() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "netrc")
            #expect(try BasicAuthentication.netrc(for: "a.test", in: file) == nil)
            try Data("machine a.test login me password word".utf8).write(to: file)
            let login = try #require(try BasicAuthentication.netrc(for: "a.test", in: file))
            let request = try await login.authenticate(HTTPRequest(url: url("http://a.test/")), in: AuthenticationContext())
            #expect(request.headers["Authorization"] == "Basic " + Data("me:word".utf8).base64EncodedString())
            #expect(throws: (any Error).self) { try BasicAuthentication.netrc(for: "a.test", in: folder) }
        }
    }
}
