import Foundation
import NessHTTP
import NessTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The examples of verbs, parameters and bodies: see `DocumentationExamples`.
@Suite(.inTurn) struct BuilderExamples {
    private struct Cat: Decodable, Sendable {
        let name: String
    }

    // MARK: verbs and policies

    private func verbs(ness: Ness, id: String, token: String, order: User) async throws {
        let user = try await ness.get("users/1").dataRequest(decoding: User.self).value
        try await ness.patch("users/1").set(jsonBody: ["name": "Ada"]).dataRequest(decoding: Void.self).value
        ness.get("users/1").set(header: "X-Id", to: id).dataRequest()
        ness.get("https://files.example.com/1").authenticate(with: .bearer(token)).dataRequest()
        ness.post("orders").set(jsonEncodable: order).set(retry: .never).dataRequest()
        _ = user
    }

    private func urlRequest(ness: Ness, url: URL) {
        var old = URLRequest(url: url)
        old.setValue("1", forHTTPHeaderField: "X-Client")
        let user = ness.httpRequest(old).dataRequest(decoding: User.self)
        _ = user
    }

    // MARK: parameters

    struct Filter: Encodable {
        var tags: [String]
        var since: Date
        var cursor: String?
    }

    private func parameters(ness: Ness, filter: Filter, date: Date) {
        let rules = URLQuery.EncodingRules(dates: .secondsSince1970, keys: .convertToSnakeCase, arrays: .brackets, booleans: .number)
        let request = ness.get("cats").set(urlEncodable: filter, with: rules)
        let cats = ness.get("cats").set(urlEncodable: Filter(tags: ["tabby"], since: date)).dataRequest(decoding: [Cat].self)
        _ = (request, cats)
    }

    // MARK: bodies

    private struct Album: Sendable {
        func photos() async throws -> [URL] { [] }
    }

    private func forms(ness: Ness, photo: URL, album: Album, entries: [User]) {
        ness.post("cats").set(multipart: { form in
            form.append("tabby", named: "color")
            form.append(file: photo, named: "photo", contentType: "image/jpeg")
        }).dataRequest()
        var form = MultipartForm()
        form.append(deferred: { form in
            for photo in try await album.photos() { form.append(file: photo, named: "photo") }
        })
        ness.post("log").set(jsonEncodable: entries).set(gzipsBody: true).dataRequest()
        let ness = Ness { $0.loaders = [.modifyRequest { $0.body = try $0.body?.gzipped() }] }
        _ = ness
    }

    @Test("a value becomes the query that the example shows")
    func query() throws {
        let date = Date(timeIntervalSince1970: 1_769_860_800)

        struct Filter: Encodable {
            var tags: [String]
            var since: Date
            var cursor: String?
        }

        let query = try URLQuery(encoding: Filter(tags: ["a", "b"], since: date))
        #expect(query.encoded == "since=2026-01-31T12%3A00%3A00Z&tags=a&tags=b")
    }
}
