// swift-format-ignore-file

import Foundation
import NessHTTP

// The examples of the article ValuesAndProgress, word for word: `GuideTests` compares them. They are compiled, not run.

private struct Draft: Error {}
private struct TooLong: Error {}
private struct Cat: Decodable, Sendable { let name: String }
private struct Chunk: Decodable, Sendable { let text: String }
private struct Prompt: Encodable, Sendable { let text: String }

private func awaited(ness: Ness) async throws {
    let response = try await ness.httpRequest(withUrl: "users/1").response()         // any status
    let user = try await ness.httpRequest(withUrl: "users/1").decoded(as: User.self) // 2xx and JSON
    let page = try await ness.httpRequest(withUrl: "about.html").text()              // 2xx, any type
    let photo = try await ness.httpRequest(withUrl: "cats/1/photo").data()           // 2xx, any type
    _ = (response, user, page, photo)
}

private func checks(ness: Ness) async throws {
    let report = try await ness.httpRequest(withUrl: "reports/7")
        .validate()
        .validate(contentTypes: ["application/pdf", "image/*"])
        .validate { response in if response.headers["X-State"] == "draft" { throw Draft() } }
        .response()
    _ = report
}

private func progress(ness: Ness, form: MultipartForm, urls: [URL], folder: URL) async throws {
    let cat = try await ness.httpRequest(.post, withUrl: "cats")
        .set(multipart: form)
        .onProgress { print($0.fractionCompleted ?? 0, $0.bytesPerSecond ?? 0) }
        .decoded(as: Cat.self)

    let downloads = urls.map { ness.httpRequest(withUrl: $0).downloadRequest(intoFolder: folder) }
    TotalProgress(of: downloads).onProgress { print($0.fractionCompleted ?? 0, $0.estimatedTimeRemaining ?? .zero) }
    _ = cat
}

private func heads(ness: Ness) async throws {
    let moved = try await ness.httpRequest(withUrl: "old")
        .onInterim { hint in print(hint.statusCode, hint.headers["Link"] ?? "") }
        .onHead { head in if head.headers["Content-Length"].flatMap({ Int($0) }) ?? 0 > 1 << 20 { throw TooLong() } }
        .response()
    for redirect in moved.history { print(redirect.url, "→", redirect.redirectURL ?? "nowhere") }
}

private func streams(ness: Ness, prompt: Prompt) async throws {
    let chunks = ness.httpRequest(.post, withUrl: "chat/completions")
        .set(jsonEncodable: prompt)
        .events(decoding: Chunk.self, until: "[DONE]", decodingErrors: APIProblem.self)
    for try await chunk in chunks { print(chunk.text, terminator: "") }
}

private func files(ness: Ness, file: URL, folder: URL, digest: String, size: Int64) async throws {
    let film = try await ness.httpRequest(withUrl: "films/1")
        .downloadRequest(forSavedLocation: file, segments: 4, expecting: .sha256(digest, size: size), createsFolders: true)
        .value

    ness.httpRequest(withUrl: "invoices/7").downloadRequest(intoFolder: folder) { response in
        folder.appending(path: response.headers["X-Number"] ?? "unknown").appendingPathExtension("pdf")
    }
    _ = film
}
