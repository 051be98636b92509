import Foundation
import NessHTTP
import NessTesting
import Testing

private struct Cat: Decodable, Sendable {
    let name: String
}

private struct Filter: Encodable {
    var tags: [String]
    var since: Date
    var cursor: String?
}

private struct Album: Sendable {
    let folder: URL
    func photos() async throws -> [URL] { [folder] }
}

private func settings(ness: Ness, id: String, trace: String, token: String) {
    let user = ness.get("users/1")  // head, post, put, patch, delete; httpRequest(.query, withUrl:) for any other
        .set(header: "X-Id", to: id)
        .set(headers: ["Accept-Language": "en", "X-Trace": trace])
        .authenticate(with: .bearer(token))
        .set(retry: BackoffRetryControl(maxRetryCount: 4))
        .dataRequest(decoding: User.self)
    _ = user
}

private func rules(ness: Ness, filter: Filter) throws {
    let rules = URLQuery.EncodingRules(dates: .secondsSince1970, keys: .convertToSnakeCase, arrays: .brackets, booleans: .number)
    let query = try URLQuery(encoding: filter, with: rules)
    let request = ness.get("cats").set(urlEncodable: filter, with: rules)
    _ = (query, request)
}

private func bodies(ness: Ness, photo: URL, album: Album, frames: AsyncStream<Data>, entries: [User], form: MultipartForm) {
    ness.post("cats").set(multipart: { form in
        form.append("tabby", named: "color")
        form.append(file: photo, named: "photo", contentType: "image/jpeg")
        form.append(deferred: { form in  // none, one or several parts, made when the form is sent
            for url in try await album.photos() { form.append(file: url, named: "more") }
        })
    }).dataRequest()
    ness.post("frames").set(streamBody: frames, contentType: "video/mjpeg").dataRequest()
    ness.post("log").set(jsonEncodable: entries).set(gzipsBody: true).dataRequest()
    ness.post("cats").set(multipart: form).set(collectsBody: true).dataRequest()
}

@Suite(.inTurn) struct RequestGuideExamples {
    private func parameters(ness: Ness, yesterday: Date) -> Promise<[String]> {
        struct Filter: Encodable {
            var tags: [String]
            var since: Date
            var cursor: String?
        }

        let cats = ness.get("cats")
            .set(urlEncodable: Filter(tags: ["tabby"], since: yesterday))
            .dataRequest(decoding: [Cat].self)
        return cats.then { cats in cats.map(\.name) }
    }

    @Test("the guide's query is the one that is sent")
    func query() async throws {
        let (ness, mock) = exampleManager()
        mock.on(.get, "/cats") { _ in .text("[]", headers: ["Content-Type": "application/json"]) }
        let names = try await parameters(ness: ness, yesterday: Date(timeIntervalSince1970: 1_769_860_800)).value
        #expect(names.isEmpty)
        #expect(mock.requests.first?.url.query(percentEncoded: true) == "since=2026-01-31T12%3A00%3A00Z&tags=tabby")
    }
}
