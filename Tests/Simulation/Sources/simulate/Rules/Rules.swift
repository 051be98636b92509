import Foundation
import NessHTTP

/// The rules that hold for every program, each with the sentence of a guide that it checks.
struct Rules {
    private let execution: Execution
    private let state: Execution.State
    private let world: World.State
    private let program: Program

    init(_ execution: Execution) {
        self.execution = execution
        state = execution.snapshot
        world = execution.world.snapshot
        program = execution.program
    }

    private func plan(_ outcome: Outcome) -> ManagerPlan { program.managers[outcome.manager] }

    private func breaks(_ text: String) { execution.world.breaks(text) }

    func check() {
        for (id, outcome) in state.outcomes.sorted(by: { $0.key < $1.key }) {
            checkEnd(id, outcome)
            checkAction(id, outcome)
            checkSecrets(id, outcome)
            if let body = outcome.body, let response = outcome.response { checkBody(id, outcome, response, body) }
            if let response = outcome.response { checkPart(id, outcome, response) }
            checkDrop(id, outcome)
            checkStream(id, outcome)
            checkProgress(id, outcome)
        }
        for index in program.managers.indices {
            checkObservers(index)
            checkLimits(index)
        }
        checkFiles()
        checkFolders()
    }

    /// "Every promise settles, once" (Concepts), and "a deadline limits all attempts together" (WhatIsRetried).
    private func checkEnd(_ id: Int, _ outcome: Outcome) {
        guard outcome.settledCount == 1, let end = outcome.endedAt else {
            return breaks("request \(id) settles \(outcome.settledCount) times")
        }
        guard !outcome.wasPaused, ![.events, .stream].contains(outcome.plan.kind) else { return }
        if let deadline = outcome.plan.deadline ?? plan(outcome).deadline,
            end - outcome.startedAt > .milliseconds(deadline) + .milliseconds(1_010)
        {
            breaks("request \(id) ends \(end - outcome.startedAt) after its start, with a deadline of \(deadline) ms")
        }
    }

    /// "A request that is not idempotent is sent again only if the server has certainly not acted on it" (WhatIsRetried).
    private func checkAction(_ id: Int, _ outcome: Outcome) {
        let count = world.acted[id] ?? 0
        // A loader that sends the request again, and a policy of the request, are the word of the application.
        let repeats = plan(outcome).loaders.contains { $0.kind == .repeats }
        let mayRepeat = repeats || outcome.plan.method != "POST" || outcome.plan.isIdempotent || outcome.plan.retries != nil
        // A chain of redirects acts once at most, because its first action turns it into a GET.
        if count > 1, !mayRepeat { breaks("the server acted \(count) times on request \(id)") }
    }

    /// "No secret appears in a text" (ErrorsAndLogging).
    private func checkSecrets(_ id: Int, _ outcome: Outcome) {
        for text in [outcome.error.map { "\($0)" }, outcome.response.map { "\($0) \($0.request)" }] {
            if let text, text.contains("secret-token-") || text.contains("secret-key-") || text.contains("id=host-") {
                breaks("a text of request \(id) shows a secret: \(text)")
            }
        }
    }

    private func checkBody(_ id: Int, _ outcome: Outcome, _ response: HTTPResponse, _ body: String) {
        guard response.statusCode == 200, response.request.method != .head,
            ["GET", "POST", "PUT"].contains(response.request.method.rawValue),
            ["resource", "private", "fresh", "varies", "mine"].contains(String(response.url.path.split(separator: "/").first ?? ""))
        else { return }
        // "A success never has a partial body" (ResponsesAndValidation).
        guard let delivered = Delivered(body) else { return breaks("request \(id) gets a body that is not one whole version: \(body)") }
        let address = "\(response.url.scheme ?? "")://\(response.url.host ?? "")\(response.url.path)"
        if delivered.address != address { breaks("request \(id) to \(address) gets the body of \(delivered.address)") }
        if !"/\(outcome.plan.url)".hasSuffix(response.url.path) {
            breaks("request \(id) to \(outcome.plan.url) gets the response of \(address)")
        }
        // "No user sees another user's response" (Caching).
        if delivered.user != World.nobody, !outcome.users.contains(delivered.user) {
            breaks("request \(id) of the users \(outcome.users) gets the response of \(delivered.user)")
        }
        checkWrites(id, outcome, response, delivered)
        checkAge(id, outcome, response, delivered)
        checkStore(id, outcome, response, delivered)
    }

    /// "A GET that starts after a write has ended sees it" (Duplicates), and a write "removes the stored responses for its URL" (Caching):
    /// for all managers that share the cache.
    private func checkWrites(_ id: Int, _ outcome: Outcome, _ response: HTTPResponse, _ delivered: Delivered) {
        if outcome.plan.url.contains("redirect") || state.managers[outcome.manager].wasReset { return }
        var writers: Set = [outcome.manager]
        // A response from the network may be older: its exchange may have started before another manager's write.
        if [.cache, .stale].contains(response.source) { writers = program.managers(withCacheOf: outcome.manager) }
        for writer in writers {
            guard let written = outcome.start.writes[writer]?[delivered.address], delivered.version < written else { continue }
            let text = "request \(id) reads version \(delivered.version) of \(delivered.address) from \(response.source)"
            breaks("\(text) after manager \(writer) wrote version \(written)")
        }
    }

    private func isStored(_ response: HTTPResponse) -> Bool { [.cache, .stale, .revalidated].contains(response.source) }

    /// "A fresh response is delivered without asking the server" (Caching): then it was current within its lifetime.
    private func checkAge(_ id: Int, _ outcome: Outcome, _ response: HTTPResponse, _ delivered: Delivered) {
        guard let versions = world.versions[delivered.address], delivered.version < versions.count else { return }
        let replacedAt = versions[delivered.version]
        let lifetime: Duration
        switch response.source {
        case .cache: lifetime = .seconds(3)
        case .stale: lifetime = .seconds(13)
        case .revalidated: lifetime = .zero
        default: return
        }
        if response.source == .revalidated, plan(outcome).duplicates != .separate { return }
        if replacedAt.advanced(by: lifetime) < outcome.startedAt {
            let age = outcome.startedAt - replacedAt
            breaks("request \(id) gets version \(delivered.version) from \(response.source), which was replaced \(age) before")
        }
    }

    /// "No user sees another user's response", and what "empties the cache" or "removes the responses of one user" (Caching).
    private func checkStore(_ id: Int, _ outcome: Outcome, _ response: HTTPResponse, _ delivered: Delivered) {
        guard isStored(response), let number = response.headers["X-Serial"].flatMap({ Int($0) }), world.responses.indices.contains(number)
        else { return }
        let stored = world.responses[number]
        if !program.managers(withCacheOf: outcome.manager).contains(stored.manager) {
            breaks("request \(id) of manager \(outcome.manager) gets a response from the cache of manager \(stored.manager)")
        }
        guard response.source != .revalidated else { return }
        let lifetime: Duration = response.source == .cache ? .seconds(2) : .seconds(12)
        // The cache rounds ages up, never down.
        if stored.at.advanced(by: lifetime) < outcome.startedAt {
            breaks("request \(id) gets a response from \(response.source) that is \(outcome.startedAt - stored.at) old")
        }
        let forgotten = outcome.start.forgotten[outcome.manager] ?? [:]
        if number <= max(forgotten[World.nobody] ?? -1, delivered.user == World.nobody ? -1 : forgotten[delivered.user] ?? -1) {
            breaks("request \(id) gets a response from \(response.source) that was removed")
        }
    }

    /// "A 206 passes the 2xx rule only if the request set Range" (ResponsesAndValidation), and no 206 is stored (Caching). A part of a stored
    /// response has the requested range.
    private func checkPart(_ id: Int, _ outcome: Outcome, _ response: HTTPResponse) {
        guard response.statusCode == 206, ![.download, .segments].contains(outcome.plan.kind) else { return }
        if response.request.headers["Range"] == nil {
            if outcome.plan.kind == .decoded { breaks("request \(id) succeeds with a part that it did not ask for") }
            if isStored(response) { breaks("request \(id) gets a part from \(response.source)") }
            return
        }
        // A server that sends a wrong part has the last word, if the application asked for a part.
        guard isStored(response) || !hasParts, response.request.method == .get, let body = outcome.body else { return }
        let numbers = response.headers["ETag"]?.split { !$0.isNumber }.compactMap { Int($0) } ?? []
        let span = response.headers["Content-Range"]?.split { !$0.isNumber }.compactMap { Int($0) } ?? []
        guard numbers.count == 2, span.count == 3 else { return breaks("request \(id) gets a part without its range") }
        let address = "\(response.url.scheme ?? "")://\(response.url.host ?? "")\(response.url.path)"
        let whole = Array(Delivered(address, numbers[0], numbers[1]).text.utf8)
        let asked = response.request.headers["Range"]?.split { !$0.isNumber }.compactMap { Int($0) } ?? []
        guard span[2] == whole.count, span[0] == asked.first, span[1] == min(asked.last ?? 0, whole.count - 1),
            Array(body.utf8) == Array(whole[span[0]...span[1]])
        else { return breaks("request \(id) for \(asked) gets \(span): \(body)") }
        if numbers[1] != World.nobody, !outcome.users.contains(numbers[1]) {
            breaks("request \(id) of the users \(outcome.users) gets a part of the response of \(numbers[1])")
        }
    }

    /// True if a server of the program sends wrong parts.
    private var hasParts: Bool {
        program.operations.contains {
            guard case .send(let plan) = $0.action else { return false }
            return plan.faults.contains(where: \.isPart)
        }
    }

    /// "Dropping one promise does not affect the others" (Duplicates), nor do the drops of another manager.
    private func checkDrop(_ id: Int, _ outcome: Outcome) {
        guard (outcome.error as? NessError)?.kind == .dropped, !outcome.wasDropped, !state.managers[outcome.manager].wasEmptied else {
            return
        }
        breaks("request \(id) is dropped, but nobody dropped it")
    }

    /// "The idle timeout does not run while the reader holds the server back" (StreamPromise), and a stream that ends is whole.
    private func checkStream(_ id: Int, _ outcome: Outcome) {
        guard outcome.plan.kind == .stream else { return }
        if outcome.plan.url.contains("large/"), outcome.response?.statusCode == 200, let body = outcome.body, !body.hasPrefix("large") {
            breaks("stream \(id) ends without an error after \(body)")
        }
        let plan = plan(outcome)
        guard outcome.plan.faults.isEmpty, outcome.plan.timeout ?? plan.timeout >= 500, outcome.plan.deadline ?? plan.deadline == nil,
            let error = outcome.error as? NessError, error.kind == .timedOut, !error.isAuthenticationFailure
        else { return }
        breaks("stream \(id) fails with a timeout, but its server was never silent: \(error)")
    }

    /// "At the end the progress is complete" (Progress).
    private func checkProgress(_ id: Int, _ outcome: Outcome) {
        guard let progress = outcome.progress, outcome.error == nil, outcome.response?.statusCode == 200,
            let share = progress.fractionCompleted,
            share < 1
        else { return }
        breaks("request \(id) succeeds with a progress of \(share)")
    }

    /// "One start and one end, in order" (ErrorsAndLogging).
    private func checkObservers(_ index: Int) {
        guard program.managers[index].observers else { return }
        for fault in execution.logs[index].faults() { breaks(fault) }
    }

    /// "Requests above a limit wait" and "the rate at which exchanges start" (RateLimitsAndCircuitBreaker).
    private func checkLimits(_ index: Int) {
        let (plan, load, manager) = (program.managers[index], world.loads[index], state.managers[index])
        if !manager.hasNewLimit {
            for (origin, most) in load.mostOpen where most > plan.hostLimit { breaks("\(most) exchanges with \(origin) at the same time") }
        }
        if let total = plan.total, load.mostTotal > total { breaks("\(load.mostTotal) exchanges at the same time") }
        // A transport that ignores cancellation ends when its server does.
        if plan.stopping != .ignored, load.totalOpen > 0 { breaks("\(load.totalOpen) exchanges are left at the end") }
        // A loader at `.exchange` runs below the throttle, and may send a request later or twice.
        let isChanged = plan.loaders.contains { $0.place == 3 && $0.kind != .passes }
        guard let rate = plan.rate, !manager.wasReset, !isChanged else { return }
        for (earlier, later) in zip(load.starts, load.starts.dropFirst()) where later - earlier < .seconds(1 / rate) - .microseconds(1) {
            breaks("two exchanges start within \(later - earlier), at a rate of \(rate)")
        }
    }

    /// "A response with a secret header field, such as Set-Cookie, is never written to disk" (Caching).
    private func checkFolders() {
        for index in program.managers.indices {
            let folder = execution.folder.appending(path: "cache\(index)")
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
                let text = (try? Data(contentsOf: folder.appending(path: name))).map { String(decoding: $0, as: UTF8.self) } ?? ""
                if text.contains("secret-") || text.contains("id=host-") { breaks("the cache's file \(name) contains a secret") }
            }
        }
    }

    /// "A file is the old one or the whole new one" (DownloadsThatSurvive).
    private func checkFiles() {
        for number in 0..<2 {
            guard let data = try? Data(contentsOf: execution.file(number)) else { return breaks("file \(number) is gone") }
            if data == Data("old".utf8) || SimulatedFile.isWhole(data) { continue }
            breaks("file \(number) is not one whole version: \(data.count) bytes")
        }
    }
}
