import Foundation
import NessHTTP
import NessInspector
import NessTesting

/// `ness-demo inspect`: opens the inspector's page on this machine, and sends it something to show, until Ctrl-C.
enum Inspect {
    static func run() async throws {
        let site = InspectedSite()
        let server = try await TestServer.start { try await site.reply(to: $0) }
        let inspector = try await Inspector.start()
        print("Open it in a browser. Ctrl-C ends it.")
        let authentication = RefreshableAuthentication(credential: "token-0", apply: { ["Authorization": "Bearer \($0)"] }) { _, ness in
            let reply = try await ness.post("login").set(form: ["grant": "refresh"]).decoded(as: [String: String].self)
            return reply["access_token"] ?? ""
        }
        let ness = Ness {
            $0.baseURL = server.url
            $0.observers = [inspector]
            $0.authentication = authentication
            $0.cache = HTTPCache(memoryLimit: 10 << 20)
            $0.retryControl = .backoff(maxRetryCount: 3)
            $0.maximumConnectionsPerHost = 4
        }
        let slowed = Ness {
            $0.baseURL = server.url
            $0.observers = [inspector]
            $0.throttle = ThrottleLimit(rate: 4)
        }
        while true {
            site.expireTokens()
            await round(ness, slowed)
            try await Task.sleep(for: .seconds(2))
        }
    }

    /// Sends one of each kind.
    private static func round(_ ness: Ness, _ slowed: Ness) async {
        // Equal requests share an exchange.
        let feed = (1...6).map { _ in ness.get("feed").set(tags: RequestTags(route: "feed")).dataRequest() }
        for promise in feed { _ = await promise.settled }
        // The token has expired: one refresh for all.
        let photos = (1...5).map { ness.get("photos", $0).set(tags: RequestTags(route: "photos/{id}")).dataRequest() }
        // The response says when the next attempt may come.
        let busy = ness.get("busy").dataRequest()
        let throttled = (1...3).map { slowed.get("logo.png").set(urlParameters: ["v": $0]).dataRequest() }
        let failed = ness.get("missing").validate(statusCodes: 200..<300).dataRequest()
        let moved = ness.get("old").dataRequest()
        let dropped = ness.get("never").dataRequest()
        _ = await ness.get("settings").dataRequest().settled
        _ = await ness.get("settings").dataRequest().settled
        await pause(ness)
        dropped.drop()
        for promise in photos + throttled + [busy, failed, moved, dropped] { _ = await promise.settled }
    }

    /// Downloads a film, and pauses on the way.
    private static func pause(_ ness: Ness) async {
        let file = FileManager.default.temporaryDirectory.appending(path: "ness-demo-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let film = ness.get("film").downloadRequest(forSavedLocation: file)
        for await progress in film.progressUpdates where (progress.fractionCompleted ?? 0) > 0.4 { break }
        film.pause()
        try? await Task.sleep(for: .milliseconds(500))
        film.resume()
        _ = await film.settled
    }
}
