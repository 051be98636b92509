import Foundation
import NessHTTP

// The ten examples of Documentation/Compared.md, word for word: `GuideTests` compares them. They are compiled, not run.

private struct Answer: Decodable, Sendable { let url: String }
private struct Cat: Decodable, Sendable { let name: String }
private struct Comic: Decodable, Sendable { let title: String }
private struct Filter: Encodable, Sendable { let tags: [String] }
private struct Foo: Codable, Sendable { let name: String }

private func query(ness: Ness, filter: Filter) async throws -> [Cat] {
    let cats = try await ness.get("cats").set(urlEncodable: filter).decoded(as: [Cat].self)
    return cats
}

private func multipart(ness: Ness) async throws -> Answer {
    let answer = try await ness.post("post").set(multipart: { form in
        form.append("one", named: "one")
        form.append("two", named: "two")
    })
    .onProgress { print($0.fractionCompleted ?? 0) }
    .decoded(as: Answer.self)
    return answer
}

private func pinning(pin: String) -> Ness {
    let ness = Ness { $0.serverTrust = .pinned(["*.example.com": .publicKeys([pin])]) }
    return ness
}

private func page(ness: Ness) async throws {
    let page = try await ness.get("users").decodedResponse(as: [User].self)
    print(page.value, page.response.headers["Link"] ?? "the last page")
}

private func client() async throws -> User {
    let ness = Ness { $0.baseURL = URL(string: "https://api.github.com") }
    let user = try await ness.get("user").decoded(as: User.self)
    try await ness.post("user/emails").set(jsonEncodable: ["ada@example.com"]).validate().response()
    return user
}

private func refresh(accessToken: String, refreshAccessToken: @escaping @Sendable () async throws -> String) -> Ness {
    let ness = Ness {
        $0.baseURL = URL(string: "https://api.github.com")
        $0.authentication = RefreshableAuthentication(credential: accessToken) {
            ["Authorization": "Bearer \($0)"]
        } refresh: { _, _ in
            try await refreshAccessToken()
        }
    }
    return ness
}

private func json() async throws -> Comic {
    let comic = try await Ness.default.get("https://xkcd.com/info.0.json")
        .set(deadline: .seconds(30)).set(maximumResponseBytes: 1 << 20).decoded(as: Comic.self)
    return comic
}

private func stream() async throws {
    let stream = Ness.default.get("https://apple.com/").set(deadline: .seconds(30)).streamRequest()
        .onProgress { print("progress: \(Int(($0.fractionCompleted ?? 0) * 100)) %") }
    var receivedBytes = 0
    for try await chunk in stream.chunks { receivedBytes += chunk.count }
    print("did receive \(receivedBytes) bytes")
}

private func file() async throws {
    let url = "https://swift.org/builds/development/ubuntu1804/latest-build.yml"
    let download = Ness.default.get(url).downloadRequest(forSavedLocation: URL(filePath: "/tmp/latest-build.yml"))
        .onProgress { print("\($0.completedBytes) of \($0.totalBytes ?? 0) bytes") }
    let file = try await download.value.dataLocalURL
    print("saved \(download.progress.completedBytes) bytes in \(file.path)")
}

private func post(ness: Ness, object: Foo, show: @escaping @MainActor @Sendable (Foo) -> Void) {
    ness.post("foos").set(jsonEncodable: object).dataRequest(decoding: Foo.self)
        .then(onMain: { foo in show(foo) })
        .handle(onMain: { error in print(error) })
}
