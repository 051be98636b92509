import Foundation
import NessHTTP

/// The rules that hold for every program, each with the sentence of a guide that it checks.
struct Rules {
    private let execution: Execution
    private let state: Execution.State
    private let world: World.State
    private let plan: ManagerPlan

    init(_ execution: Execution) {
        self.execution = execution
        state = execution.snapshot
        world = execution.world.snapshot
        plan = execution.program.manager
    }

    private func breaks(_ text: String) { execution.world.breaks(text) }

    func check() {
        for (id, outcome) in state.outcomes.sorted(by: { $0.key < $1.key }) {
            checkEnd(id, outcome)
            checkAction(id, outcome)
            checkSecrets(id, outcome)
            if let body = outcome.body, let response = outcome.response { checkBody(id, outcome, response, body) }
            checkProgress(id, outcome)
        }
        checkObservers()
        checkLimits()
        checkFiles()
    }

    /// "Every promise settles, once" (Concepts), and "a deadline limits all attempts together" (WhatIsRetried).
    private func checkEnd(_ id: Int, _ outcome: Outcome) {
        guard outcome.settledCount == 1, let end = outcome.endedAt else {
            return breaks("request \(id) settles \(outcome.settledCount) times")
        }
        guard !outcome.wasPaused, ![.events, .stream].contains(outcome.plan.kind) else { return }
        if let deadline = outcome.plan.deadline ?? plan.deadline, end - outcome.startedAt > .milliseconds(deadline) + .milliseconds(1_010) {
            breaks("request \(id) ends \(end - outcome.startedAt) after its start, with a deadline of \(deadline) ms")
        }
    }

    /// "A request that is not idempotent is sent again only if the server has certainly not acted on it" (WhatIsRetried).
    private func checkAction(_ id: Int, _ outcome: Outcome) {
        let count = world.acted[id] ?? 0
        // A loader that sends the request again, and a policy of the request, are the word of the application.
        let repeats = plan.loaders.contains { $0.kind == .repeats }
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
            ["resource", "private", "fresh", "varies"].contains(String(response.url.path.split(separator: "/").first ?? ""))
        else { return }
        // "A success never has a partial body" (ResponsesAndValidation).
        guard let delivered = Delivered(body) else { return breaks("request \(id) gets a body that is not one whole version: \(body)") }
        let address = "\(response.url.scheme ?? "")://\(response.url.host ?? "")\(response.url.path)"
        if delivered.address != address { breaks("request \(id) to \(address) gets the body of \(delivered.address)") }
        if !"/\(outcome.plan.url)".hasSuffix(response.url.path) {
            breaks("request \(id) to \(outcome.plan.url) gets the response of \(address)")
        }
        // "No user sees another user's response" (Caching).
        if delivered.user != 9, !outcome.users.contains(delivered.user) {
            breaks("request \(id) of the users \(outcome.users) gets the response of \(delivered.user)")
        }
        // "A GET that starts after a write has ended sees it" (Duplicates, Caching).
        let isRedirected = outcome.plan.url.contains("redirect")
        if let written = outcome.confirmed[address], delivered.version < written, !isRedirected, !state.wasReset {
            breaks("request \(id) reads version \(delivered.version) of \(address) after version \(written) was written")
        }
        checkAge(id, outcome, response, delivered)
    }

    /// "A fresh response is delivered without asking the server" (Caching): then it was current within its lifetime.
    private func checkAge(_ id: Int, _ outcome: Outcome, _ response: HTTPResponse, _ delivered: Delivered) {
        guard let versions = world.versions[delivered.address], delivered.version < versions.count else { return }
        let replacedAt = versions[delivered.version]
        let lifetime: Duration
        switch response.source {
        case .cache: lifetime = .seconds(3)
        case .revalidated: lifetime = .zero
        default: return
        }
        if response.source == .revalidated, plan.duplicates != .separate { return }
        if replacedAt.advanced(by: lifetime) < outcome.startedAt {
            breaks(
                "request \(id) gets version \(delivered.version) from \(response.source), which was replaced \(outcome.startedAt - replacedAt) before"
            )
        }
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
    private func checkObservers() {
        guard plan.observers else { return }
        for fault in execution.log.faults() { breaks(fault) }
    }

    /// "Requests above a limit wait" and "the rate at which exchanges start" (LimitsAndFailingHosts).
    private func checkLimits() {
        if !state.hasNewLimit {
            for (origin, most) in world.mostOpen where most > plan.hostLimit { breaks("\(most) exchanges with \(origin) at the same time") }
        }
        if let total = plan.total, world.mostTotal > total { breaks("\(world.mostTotal) exchanges at the same time") }
        // A loader at `.exchange` runs below the throttle, and may send a request later or twice.
        let isChanged = plan.loaders.contains { $0.place == 3 && $0.kind != .passes }
        guard let rate = plan.rate, !state.wasReset, !isChanged else { return }
        for (earlier, later) in zip(world.starts, world.starts.dropFirst()) where later - earlier < .seconds(1 / rate) - .microseconds(1) {
            breaks("two exchanges start within \(later - earlier), at a rate of \(rate)")
        }
    }

    /// "A file is the old one or the whole new one" (DownloadsThatSurvive).
    private func checkFiles() {
        for number in 0..<2 {
            guard let data = try? Data(contentsOf: execution.file(number)) else { return breaks("file \(number) is gone") }
            let isOld = data == Data("old".utf8)
            if !isOld, data.count != 4_000 || Set(data).count != 1 {
                breaks("file \(number) has \(data.count) bytes of \(Set(data).count) versions")
            }
        }
    }
}
