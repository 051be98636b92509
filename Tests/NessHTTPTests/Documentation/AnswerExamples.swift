import Foundation
import NessHTTP

/// The examples of answers, streams and downloads: see `DocumentationExamples`. They are compiled, not run.
private struct AnswerExamples {
    private struct OldServer: Error {}
    private struct NotAFilm: Error {}

    private struct Cat: Decodable, Sendable {
        let name: String
    }

    private struct Chunk: Decodable, Sendable {
        let text: String
    }

    private func awaited(_ ness: Ness) async throws -> User {
        let response = try await ness.httpRequest(withUrl: "users/1").validate().response()
        print(response.statusCode, response.headers["ETag"] ?? "no version")

        let user = try await ness.httpRequest(withUrl: "users/1").decoded(as: User.self)
        return user
    }

    private func withResponse(_ ness: Ness, _ request: RequestBuilder) async throws {
        let page = try await request.decodedResponse(as: [User].self)
        print(page.value.count, page.response.headers["X-Total-Count"] ?? "?")

        ness.request(.user(42)).withResponse()
            .then { user in print(user.value.name, user.response.headers["ETag"] ?? "no version") }
    }

    private func validation(_ ness: Ness, _ folder: URL) async throws -> User {
        ness.httpRequest(withUrl: "cats/1/photo").validate(contentTypes: ["image/*", "application/pdf"]).downloadRequest(intoFolder: folder)

        let user = try await ness.httpRequest(withUrl: "users/1")
            .validate { response in if response.headers["API-Version"] != "2" { throw OldServer() } }
            .decoded(as: User.self)
        return user
    }

    private func listeners(_ ness: Ness, _ form: MultipartForm) async throws -> (Cat, Data) {
        let cat = try await ness.httpRequest(.post, withUrl: "cats")
            .set(multipart: form)
            .onProgress { print($0.fractionCompleted ?? 0) }
            .decoded(as: Cat.self)

        let film = try await ness.httpRequest(withUrl: "films/1")
            .onHead { head in if head.headers["Content-Type"] != "video/mp4" { throw NotAFilm() } }
            .data()
        return (cat, film)
    }

    private func measured(_ ness: Ness) async throws -> [[Cat]] {
        let first = {
            let cats = try await ness.get("cats").onMetrics { print($0.total, $0.attempts) }.decoded(as: [Cat].self)
            return cats
        }
        let cats = try await ness.get("cats").set(retry: .backoff(maxRetryCount: 3)).decoded(as: [Cat].self)
        return [try await first(), cats]
    }

    private func history(_ ness: Ness) async throws {
        let response = try await ness.httpRequest(withUrl: "http://example.com/moved").response()
        for redirect in response.history { print(redirect.url, redirect.statusCode, redirect.redirectURL ?? "nowhere") }
    }

    private func total(_ ness: Ness, _ files: [(name: String, url: URL)], _ folder: URL) {
        let downloads = files.map { ness.httpRequest(withUrl: $0.url).downloadRequest(intoFolder: folder) }
        let total = TotalProgress(of: downloads)
        total.onProgress { print($0.fractionCompleted ?? 0, $0.estimatedTimeRemaining ?? .zero) }
    }

    private func chat(_ ness: Ness) async throws {
        let chunks = ness.httpRequest(.post, withUrl: "chat/completions")
            .set(jsonBody: ["model": "small", "stream": true, "messages": [["role": "user", "content": "Hello"]]])
            .events(decoding: Chunk.self, decodingErrors: APIProblem.self)
        for try await chunk in chunks { print(chunk.text, terminator: "") }
    }

    private func results(_ request: RequestBuilder) async throws {
        for try await result in request.events(decoding: Chunk.self).results {
            switch result {
            case .success(let chunk): print(chunk.text, terminator: "")
            case .failure(let error): print(error)
            }
        }
    }

    private func checked(_ ness: Ness, _ file: URL, _ digest: String) async throws -> DownloadResult {
        let film = try await ness.httpRequest(withUrl: "films/1")
            .downloadRequest(forSavedLocation: file, expecting: .sha256(digest, size: 734_003_200))
            .value
        return film
    }

    private func chosen(_ ness: Ness, _ photos: URL) {
        ness.httpRequest(withUrl: "photos/1").downloadRequest(intoFolder: photos) { response in
            photos.appending(path: response.headers["Content-Type"] == "image/png" ? "1.png" : "1.jpg")
        }
    }
}
