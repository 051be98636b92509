import Foundation
import NessHTTP
import NessTesting
import Testing

/// The examples of promises, retries, paging, credentials and presets: see `DocumentationExamples`.
@Suite(.inTurn) struct PolicyExamples {
    @MainActor private final class Spinner {
        func stop() {}
    }

    private struct UserPage: Decodable, Sendable {
        var users: [User]
        var cursor: String?
    }

    private struct Token: Decodable, Sendable {
        var access: String
        var refresh: String
        var expiry: Date
    }

    private struct Store {
        func load(completion: @escaping @Sendable (Result<User, any Error>) -> Void) {}
    }

    private func unhandled() {
        AnyPromise.onUnhandledError = { print($0) }
        AnyPromise.onUnhandledError = nil
    }

    @MainActor private func ends(
        _ promise: Promise<User>, _ request: Promise<User>, _ spinner: Spinner, show: @escaping @MainActor @Sendable (User) -> Void,
        showAlert: @escaping @MainActor @Sendable (any Error) -> Void
    ) {
        promise.then(onMain: { show($0) }).handle(ignoringDrops: true, onMain: { showAlert($0) })
        request.then(onMain: { show($0) }).finally(onMain: { spinner.stop() })
    }

    private func lists(
        _ name: Promise<String>, _ ids: Promise<[Int]>, _ urls: [URL], _ ness: Ness, _ store: Store,
        load: @escaping @Sendable (URL) async throws -> Data
    ) async throws {
        let age = name.compactMap { Int($0) }
        let pages = Promise.all(1...100, atOnce: 4) { page in ness.httpRequest(withUrl: "list/\(page)").dataRequest() }
        let images = try await Promise.all(urls, atOnce: 4) { url in try await load(url) }.value
        let users = ids.thenMap(atOnce: 4) { id in ness.httpRequest(withUrl: "users/\(id)").dataRequest(decoding: User.self) }
        let (loaded, resolver) = Promise<User>.pending()
        store.load(completion: resolver.settle)
        print(age, pages, images, users, loaded)
    }

    private func retries(_ request: RequestBuilder, _ configuration: inout Ness.Configuration) {
        request.dataRequest(with: .decide { attempt in attempt.number < 3 ? .retryAfter(1) : .noRetry })
        #if canImport(Network)
        configuration.retryControl = .any([NetworkRetryControl(), BackoffRetryControl(maxRetryCount: 4)])
        #endif
    }

    private func pins(current: String, backup: String) -> Ness {
        let ness = Ness {
            $0.serverTrust = .pinned(["*.example.com": .publicKeys([current, backup]), "cdn.example.com": .system])
        }
        return ness
    }

    private func authorities() throws -> Ness {
        let company = try Certificates(pem: Data(contentsOf: URL(filePath: "/etc/company/ca.pem")))
        let ness = Ness { $0.serverTrust = .pinned(["*.company.example": .authorities(company)]) }
        return ness
    }

    private func identity(_ file: URL, _ password: String) throws -> Ness {
        let identity = ClientIdentity(pkcs12: try Data(contentsOf: file), password: password)
        let ness = Ness { $0.clientIdentities = ["api.example.com": identity] }
        return ness
    }

    private func paging(_ ness: Ness, _ result: DataResult) async throws {
        for try await page in ness.pages(of: ness.httpRequest(withUrl: "repos"), next: .linkHeader) {
            print(page.message.text)
        }
        let last = result.message.linkURL(relation: "last")
        print(last as Any)

        let list = ness.httpRequest(withUrl: "users")
        let pages = ness.pages(of: list, decoding: UserPage.self) { page, request in
            page.cursor.map { request.set(.appendAndOverwriteSameKey, urlParameters: ["cursor": $0]) }
        }
        for try await page in pages { print(page.users) }
    }

    private func credentials(_ token: Token) -> Ness {
        let authentication = RefreshableAuthentication(credential: token, isStale: { $0.expiry < .now }) { token in
            ["Authorization": "Bearer \(token.access)"]
        } renew: { stale, ness in
            try await ness.httpRequest(.post, withUrl: "token").set(form: ["refresh_token": stale.refresh])
                .dataRequest(decoding: Token.self).value
        }
        let ness = Ness {
            $0.baseURL = URL(string: "https://api.example.com/v1/")
            $0.authentication = authentication
        }
        return ness
    }

    private func own(_ ness: Ness, _ trace: String) {
        ness.httpRequest(withUrl: "report").loaders([.modifyRequest { $0.headers["X-Trace"] = trace }]).dataRequest()
    }

    private func server() -> Ness {
        let ness = Ness(.server) {
            $0.baseURL = URL(string: "http://users.internal/")
            $0.maximumConcurrentRequests = 1_000
        }
        return ness
    }
}
