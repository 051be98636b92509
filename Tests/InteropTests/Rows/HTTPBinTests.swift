#if os(Linux)
import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

extension Interop {
    /// The routes of httpbin.
    @Suite(.needs(.gunicorn)) struct HTTPBinTests {
        private static func at(_ path: String) async throws -> String { try await Servers.get(HTTPBin.self).at(path) }

        @Test("gzip, deflate and Brotli are decoded, whether the library or the caller requests them", arguments: Wire.allCases)
        func codings(wire: Wire) async throws {
            let ness = try wire.ness()
            for (coding, path, name) in [("gzip", "/gzip", "gzipped"), ("deflate", "/deflate", "deflated"), ("br", "/brotli", "brotli")] {
                let request = ness.httpRequest(withUrl: try await Self.at(path))
                #expect(try await request.set(header: "Accept-Encoding", to: coding).decoded(as: JSONValue.self)[name] == true)
                // URLSession on Linux asks for no coding by itself, and httpbin sends one unasked.
                if wire == .curl {
                    #expect(try await request.decoded(as: JSONValue.self)[name] == true)
                } else {
                    #expect(await request.dataRequest().nessError()?.kind == .malformedResponse)
                }
            }
        }

        @Test("basic authentication, with a right and a wrong password", arguments: Wire.allCases)
        func basic(wire: Wire) async throws {
            let base = try #require(URL(string: try await Self.at("/")))
            for (password, status) in [("hidden word", 200), ("wrong", 401)] {
                let ness = try wire.ness {
                    $0.baseURL = base
                    $0.authentication = BasicAuthentication(user: "me", password: password)
                }
                #expect(try await ness.httpRequest(withUrl: "basic-auth/me/hidden%20word").response().statusCode == status)
                #expect(
                    try await ness.httpRequest(withUrl: "bearer").set(header: "Authorization", to: "Bearer x").response().statusCode == 200)
            }
        }

        @Test(
            "digest authentication with each algorithm and quality of protection", arguments: Wire.allCases,
            ["auth/me/word/MD5", "auth/me/word/SHA-256", "auth/me/word/SHA-512", "auth-int/me/word/MD5"])
        func digests(wire: Wire, path: String) async throws {
            let base = try #require(URL(string: try await Self.at("/")))
            for (password, status) in [("word", 200), ("wrong", 401)] {
                let ness = try wire.ness {
                    $0.baseURL = base
                    $0.authentication = DigestAuthentication(user: "me", password: password)
                    // httpbin wants its cookies back.
                    $0.cookies = CookieJar()
                }
                // Neither SHA-512 nor the protection of bodies is in the library: its answer is the server's 401.
                let isKnown = path.hasPrefix("auth/") && !path.hasSuffix("512")
                for _ in 0..<2 {
                    let response = try await ness.httpRequest(withUrl: "digest-auth/\(path)").response()
                    #expect(response.statusCode == (isKnown ? status : 401), "\(path)")
                }
            }
        }

        @Test("cookies are set in a redirect, sent, and deleted", arguments: Wire.allCases)
        func cookies(wire: Wire) async throws {
            let jar = CookieJar(), ness = try wire.ness { $0.cookies = jar }
            let set = try await ness.httpRequest(withUrl: try await Self.at("/cookies/set?a=1&b=two")).decoded(as: JSONValue.self)
            #expect(set["cookies"] == ["a": "1", "b": "two"])
            let left = try await ness.httpRequest(withUrl: try await Self.at("/cookies/delete?a")).decoded(as: JSONValue.self)
            #expect(left["cookies"] == ["b": "two"] && jar.cookies.count == 1)
            let none = ness.httpRequest(withUrl: try await Self.at("/cookies")).withoutCookies()
            #expect(try await none.decoded(as: JSONValue.self)["cookies"] == [:])
        }

        @Test("chains of redirects are followed, relative and absolute ones, up to the limit", arguments: Wire.allCases)
        func redirects(wire: Wire) async throws {
            let ness = try wire.ness()
            for path in ["/redirect/5", "/relative-redirect/5", "/absolute-redirect/5"] {
                let response = try await ness.httpRequest(withUrl: try await Self.at(path)).response()
                #expect(response.statusCode == 200 && response.history.count == 5)
            }
            #expect(await ness.httpRequest(withUrl: try await Self.at("/redirect/50")).dataRequest().nessError()?.kind == .redirect)
        }

        @Test("a body from a sequence arrives in chunks, and JSON, form and query as they were given", arguments: Wire.allCases)
        func bodies(wire: Wire) async throws {
            let ness = try wire.ness()
            let pieces = AsyncStream<Data> { continuation in
                for number in 0..<100 { continuation.yield(Data("\(number),".utf8)) }
                continuation.finish()
            }
            let posted = ness.httpRequest(.post, withUrl: try await Self.at("/post"))
            let streamed = try await posted.set(streamBody: pieces).set(header: "Content-Type", to: "text/plain").decoded(
                as: JSONValue.self)
            #expect(streamed["data"] == .string((0..<100).map { "\($0)," }.joined()))
            let json = try await posted.set(jsonBody: ["a": [1, true, nil], "ü": "☃"]).decoded(as: JSONValue.self)
            #expect(json["json"] == ["a": [1, true, nil], "ü": "☃"])
            let form = try await posted.set(form: ["a b": "ä&=+", "list": "1"]).decoded(as: JSONValue.self)
            #expect(form["form"] == ["a b": "ä&=+", "list": "1"])
            let query = ness.httpRequest(withUrl: try await Self.at("/get")).set(urlParameters: ["q": "ä b+☃", "r": "1&2=3"])
            #expect(try await query.decoded(as: JSONValue.self)["args"] == ["q": "ä b+☃", "r": "1&2=3"])
        }

        @Test("lines and text of other character sets arrive", arguments: Wire.allCases)
        func streams(wire: Wire) async throws {
            let ness = try wire.ness()
            var ids: [JSONValue?] = []
            let lines = ness.httpRequest(withUrl: try await Self.at("/stream/20")).set(checksContentType: false)
            for try await value in lines.lines(decoding: JSONValue.self) { ids.append(value["id"]) }
            #expect(ids == (0..<20).map { JSONValue($0) })
            #expect(try await ness.httpRequest(withUrl: try await Self.at("/encoding/utf8")).text().contains("STARGΛ̊TE"))
        }
    }
}
#endif
