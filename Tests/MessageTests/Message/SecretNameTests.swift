import Foundation
import NessTesting
import TestSupport
import Testing

@testable import NessHTTP

/// Which names are secret without being told, and what that means.
@Suite(.inTurn) struct SecretNameTests {
    @Test(
        "tokens, keys, passwords, signatures, credentials and sessions are secret in any spelling",
        arguments: [
            "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Amz-Security-Token", "X-CSRF-Token", "X-XSRF-Token", "Private-Token",
            "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "X-Amz-Signature", "X-Amz-Credential", "auth_token", "accessToken",
            "refresh_token", "jwt", "session", "pwd", "client_secret", "sig", "authtoken", "XSRFTOKEN", "xsrftoken", "apikey", "APIKey",
            "API_KEY", "passWord", "password_confirmation", "newPassword2", "secret_access_key", "X-Hub-Signature-256", "X-Auth",
            "X-Session-Id", "JSESSIONID", "PHPSESSID", "sid", "otp", "DD-APPLICATION-KEY", "privateKey", "authorization_code",
            "code_verifier", "id_token_hint", "device_tokens", "Set-Cookie2", "passphrase", "PASSWD", "user.password", "api_keys",
            "verification_code", "xPIN", "OTPId", "aws_credentials",
        ])
    func secret(name: String) { #expect(SecretNames().containsHeader(name) && SecretNames().containsParameter(name)) }

    @Test(
        "ordinary names are shown, and so are names that only describe a secret",
        arguments: [
            "monkey", "keyword", "design", "author", "authority", "tokenizer", "secretary", "signal", "assignment", "passenger", "compass",
            "spin", "turkey", "hotkey", "obsession", "key", "code", "state", "Idempotency-Key", "sort_key", "public_key",
            "Sec-WebSocket-Key", "Access-Control-Allow-Credentials", "WWW-Authenticate", "token_type", "max_tokens",
            "X-RateLimit-Remaining-Tokens", "expires_in", "hasPassword", "password_length", "cookie_name", "access_key_id", "Content-Type",
        ])
    func ordinary(name: String) { #expect(!SecretNames().containsHeader(name) && !SecretNames().containsParameter(name)) }

    @Test("a name that does not contain the start of a secret word is not split into words", arguments: ["Accept", "ssl"])
    func quickCheck(name: String) { #expect(!SecretNameRule.mayBeSecret(name)) }

    @Test("OAuth's code and an API's key are secret in queries and forms, and ordinary words in JSON")
    func inQuery() throws {
        let redactor = Redactor()
        #expect(redactor.redacted(urlText: "/x?code=hunter2&key=hunter2&q=1") == "/x?code=<redacted>&key=<redacted>&q=1")
        #expect(redactor.redacted(urlText: "/x?next=%2Fy%3Fcode%3Dhunter2") == "/x?next=<redacted>")
        let json = #"{"code":42,"key":"a"}"#
        #expect(redactor.redacted(text: json) == json)
    }

    @Test(
        "a parameter's name is recognized if it has escapes of JSON or was encoded up to three times, and is secret if more often",
        arguments: [
            ("to%6Ben", true), ("to%256Ben", true), ("to%25256Ben", true), ("t%25256F", false), ("t%2525256F", true),
            (#"ke\y"#, true), (#"k\ey"#, true), (#"ke\u0079"#, true), (#"k\u0065y"#, true),
        ])
    func encodedName(name: String, isHidden: Bool) {
        #expect(Redactor().redacted(urlText: "/x?\(name)=abc") == "/x?\(name)=\(isHidden ? "<redacted>" : "abc")")
    }

    @Test("the headers of an environment hide the secret names of their manager")
    func environment() throws {
        let ness = Ness { $0.secretNames = ["X-Patient"] }
        ness.environment = ServerEnvironment(baseURL: try url("https://h.test"), defaultHeaders: ["X-Patient": "1234567"])
        #expect(!"\(ness.environment.defaultHeaders)".contains("1234567"))
    }

    @Test("names can be added and removed, for a manager and for a request; the last change counts")
    func removed() throws {
        let ness = Ness { ($0.publicNames, $0.secretNames) = (["Session", "code"], ["pin", "X-Plain"]) }
        let builder = ness.httpRequest(withUrl: "http://h.test/?session=a&code=b&pin=c&token=d").set(headers: ["X-Plain": "e"])
        #expect("\(try builder.build())" == "GET http://h.test/?session=a&code=b&pin=<redacted>&token=<redacted>")
        let other = try builder.set(secretNames: ["SESSION"]).set(publicNames: ["PIN", "x-plain"]).build()
        #expect("\(other)" == "GET http://h.test/?session=<redacted>&code=b&pin=c&token=<redacted>")
        #expect("\(other.headers)" == "[X-Plain: e]")
        var names = SecretNames()
        names.remove(["Authorization", "cookie"])
        #expect(names.containsHeader("Authorization") && names.containsHeader("Cookie"))
    }

    @Test("a name that is secret in the caller's request stays secret in a request of a loader that declares it public")
    func inherited() throws {
        let caller = try Ness().get("http://h.test/").set(secretNames: ["pin"]).build()
        let made = try Ness().get("http://h.test/?pin=a&token=b").set(publicNames: ["PIN", "token"]).build()
        #expect("\(made)" == "GET http://h.test/?pin=a&token=b")
        #expect("\(made.inheriting(from: caller))" == "GET http://h.test/?pin=<redacted>&token=b")
    }

    @Test("the request of a shared exchange, as one caller sees it, hides the secret names of its sender and of that caller")
    func shared() throws {
        let sent = try Ness().get("http://h.test/?badge=a&color=b&page=c").set(secretNames: ["badge"]).build()
        let caller = try Ness().get("http://h.test/").set(secretNames: ["color"]).build()
        #expect("\(sent.shown(to: caller))" == "GET http://h.test/?badge=<redacted>&color=<redacted>&page=c")
    }

    private static let fields: HTTPHeaders = [
        "X-Auth-Token": "1", "X-API-Key": "2", "X-CSRF-Token": "3", "Private-Token": "4", "X-Session-ID": "5", "X-Plain": "6",
        "X-Monkey": "7",
    ]

    @Test("a redirect to another origin removes every secret field, by any name; fields declared public stay")
    func redirect() async throws {
        try await serving({ _ in .text("arrived") }) { other in
            try await serving({ _ in .status(307, headers: ["Location": other.at("/to")]) }) { server in
                let builder = Ness().httpRequest(.post, withUrl: server.at("/")).set(headers: Self.fields).set(stringBody: "x")
                for request in [builder, builder.set(publicNames: ["x-session-id"])] { _ = try await request.dataRequest().value }
                let names = other.requests.map { request in Self.fields.map(\.name).filter { request.headers.contains($0) } }
                #expect(names == [["X-Plain", "X-Monkey"], ["X-Session-ID", "X-Plain", "X-Monkey"]])
            }
        }
    }

    @Test("secret default headers stay inside the base URL")
    func defaults() async throws {
        let rig = Rig { ($0.defaultHeaders, $0.publicNames) = (Self.fields, ["Private-Token"]) }
        rig.mock.on(.get, "//other.test/x") { _ in .text("") }
        rig.mock.on(.get, "/x") { _ in .text("") }
        for text in ["x", "https://other.test/x"] { _ = try await rig.ness.httpRequest(withUrl: text).dataRequest().value }
        let names = rig.mock.requests.map { request in Self.fields.map(\.name).filter { request.headers.contains($0) } }
        #expect(names == [Self.fields.map(\.name), ["Private-Token", "X-Plain", "X-Monkey"]])
    }
}
