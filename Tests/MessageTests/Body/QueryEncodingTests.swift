import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Queries and forms from `Encodable` values.
@Suite(.inTurn) struct QueryEncodingTests {
    private struct Place: Encodable {
        var cityName: String
        var postCodes: [Int]
    }

    private struct Filter: Encodable {
        var searchText = "cute cats&dogs"
        var page = 2
        var isOpen = true
        var after: String?
        var tags = ["x", "y"]
        var none: [Int] = []
        var since = Date(timeIntervalSince1970: 1_700_000_000.75)
        var raw = Data([0xFB, 0xFF])
        var place = Place(cityName: "Łódź", postCodes: [1, 2])
        var site = URL(string: "https://h.test/a?b=c")
    }

    private func text(_ query: URLQuery) -> [String] { query.items.map { "\($0.name)=\($0.value ?? "-")" } }

    @Test("an Encodable value becomes parameters, sorted by name, without what is nil or empty")
    func defaults() throws {
        #expect(
            text(try URLQuery(encoding: Filter())) == [
                "isOpen=true", "page=2", "place[cityName]=Łódź", "place[postCodes]=1", "place[postCodes]=2", "raw=+/8=",
                "searchText=cute cats&dogs", "since=2023-11-14T22:13:20Z", "site=https://h.test/a?b=c", "tags=x", "tags=y",
            ])
    }

    @Test("dates, bytes and names follow the strategies of JSONEncoder; arrays and Booleans have their own rules")
    func rules() throws {
        let rules = URLQuery.EncodingRules(
            dates: .secondsSince1970, data: .custom { data, encoder in try "\(data.count) bytes".encode(to: encoder) },
            keys: .convertToSnakeCase, arrays: .brackets, booleans: .number)
        #expect(
            text(try URLQuery(encoding: Filter(after: "c"), with: rules)) == [
                "after=c", "is_open=1", "page=2", "place[city_name]=Łódź", "place[post_codes][]=1", "place[post_codes][]=2", "raw=2 bytes",
                "search_text=cute cats&dogs", "since=1700000000.75", "site=https://h.test/a?b=c", "tags[]=x", "tags[]=y",
            ])
    }

    @Test("array elements are plain, with brackets or with their index, at every level")
    func arrays() throws {
        let value: JSONValue = ["a": [1, ["b": [true, nil, "c"]]], "Key_OfMine": [[]]]
        func names(_ arrays: URLQuery.EncodingRules.Arrays) throws -> [String] {
            text(try URLQuery(encoding: value, with: .init(keys: .convertToSnakeCase, arrays: arrays)))
        }
        #expect(try names(.plain) == ["a=1", "a[b]=true", "a[b]=c"])
        #expect(try names(.brackets) == ["a[]=1", "a[][b][]=true", "a[][b][]=c"])
        #expect(try names(.indices) == ["a[0]=1", "a[1][b][0]=true", "a[1][b][2]=c"])
    }

    @Test("numbers keep all their digits, and dictionaries their keys")
    func exact() throws {
        struct Numbers: Encodable {
            var decimal = Decimal(string: "12345678901234567890.123456789")
            var large = UInt64.max
            var negative = Int64.min
            var tenth = 0.1
            var whole = 1.0
            var words = ["camelCase": 1, "a[]": 2]
        }
        #expect(
            text(try URLQuery(encoding: Numbers(), with: .init(keys: .convertToSnakeCase))) == [
                "decimal=12345678901234567890.123456789", "large=18446744073709551615", "negative=-9223372036854775808", "tenth=0.1",
                "whole=1", "words[a][]=2", "words[camelCase]=1",
            ])
        #expect(try URLQuery(encoding: ["b": 1, "a": 2]).encoded == "a=2&b=1")
        #expect(try URLQuery(encoding: Place?.none).items.isEmpty)
    }

    private indirect enum Nested: Encodable {
        case end
        case more(Nested)

        enum Name: CodingKey { case n }

        func encode(to encoder: any Encoder) throws {
            guard case .more(let inner) = self else { return try 1.encode(to: encoder) }
            var container = encoder.container(keyedBy: Name.self)
            try container.encode(inner, forKey: .n)
        }
    }

    @Test("a value without names, an infinite number and a value nested too deep are errors of the request; nothing is sent")
    func refused() async throws {
        struct Leaky: Encodable {
            var rate = Double.infinity
        }
        let rig = Rig(onUnmatched: .reply(.status(200)))
        let deep = (0..<300).reduce(Nested.end) { inner, _ in .more(inner) }
        let post = rig.ness.post("x")
        let refused = [
            post.set(urlEncodable: [1, 2]), post.set(urlEncodable: 7), post.set(urlEncodable: Leaky()), post.set(urlEncodable: deep),
            post.set(formEncodable: "a"), post.set(urlEncodable: Leaky()).add(urlParameterValue: 1, forKey: "a"),
            post.set(urlParameters: ["a": 1]).set(urlEncodable: Leaky()), post.set(urlEncodable: Leaky()).set(urlEncodable: ["a": 1]),
        ]
        for (index, builder) in refused.enumerated() {
            let error = await builder.dataRequest().nessError()
            #expect(error?.kind == .invalidRequest && error?.underlying is EncodingError)
            #expect(error?.context.reason.contains(index == 4 ? "the body can't" : "the parameters can't") == true)
        }
        #expect(rig.mock.requests.isEmpty)
        _ = try await post.set(urlEncodable: Leaky()).set(.overwriteAll, urlEncodable: ["a": 1]).dataRequest().value
        #expect(rig.mock.received.map(\.target) == ["/x?a=1"])
    }

    @Test("set(urlEncodable:) and set(formEncodable:) send a value as query or form, and combine with other parameters")
    func sent() async throws {
        try await withServer { server, ness in
            let place = Place(cityName: "a b", postCodes: [1, 2])
            let post = ness.post("x?z=0").set(urlParameters: ["cityName": "old", "k": 1])
            _ = try await post.set(.overwriteAll, urlEncodable: place, with: .init(arrays: .brackets)).dataRequest().value
            _ = try await post.set(urlEncodable: place).dataRequest().value
            _ = try await post.set(.appendAndKeepPreviousValue, urlEncodable: place).dataRequest().value
            _ = try await post.set(formEncodable: place, with: .init(arrays: .indices)).dataRequest().value
            #expect(
                server.requests.map(\.target) == [
                    "/x?z=0&cityName=a%20b&postCodes%5B%5D=1&postCodes%5B%5D=2", "/x?z=0&k=1&cityName=a%20b&postCodes=1&postCodes=2",
                    "/x?z=0&cityName=old&k=1&postCodes=1&postCodes=2", "/x?z=0&cityName=old&k=1",
                ])
            #expect(server.requests.last?.bodyText == "cityName=a%20b&postCodes%5B0%5D=1&postCodes%5B1%5D=2")
            #expect(server.requests.last?.headers["Content-Type"] == "application/x-www-form-urlencoded")
        }
    }

    @Test("a date is a parameter in ISO 8601; dictionaries of several types made at run time are queries")
    func runTime() throws {
        let since = Date(timeIntervalSince1970: 1_700_000_000.999), none: Int? = nil
        #expect((["since": since] as URLQuery).encoded == "since=2023-11-14T22%3A13%3A20Z")
        var made: [String: any QueryValue] = ["b": 1, "a": "x"]
        made["since"] = since
        #expect(URLQuery(made).encoded == "a=x&b=1&since=2023-11-14T22%3A13%3A20Z")
        let optional: [String: (any QueryValue)?] = ["b": none, "a": ["x", "y"], "c": nil]
        #expect(URLQuery(optional).encoded == "a=x&a=y")
        #expect(URLQuery(["b": 2, "a": 1]).encoded == "a=1&b=2" && URLQuery(["a": 1, "b": "x"]).encoded == "a=1&b=x")
    }

    @Test(
        "a date that ISO 8601 does not have is an error, or its seconds in a literal, but never another date",
        arguments: [.nan, 1e17, .infinity, -.infinity, 1e300, -1e300, -62_167_219_201, 253_402_300_800])
    func noSuchDate(_ seconds: Double) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(throws: EncodingError.self) { try URLQuery(encoding: ["since": date]) }
        #expect(date.queryItems(named: "since").map(\.value) == ["\(seconds)"])
    }
}
