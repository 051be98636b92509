import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// The rule of task-local values: see *Where closures run*.
@Suite(.inTurn(.withoutSockets)) struct TaskLocalTests {
    enum Caller { @TaskLocal static var name = "none" }

    /// Notes which caller's values a piece of code has.
    final class Notes: Sendable {
        let log = Log<String>()
        func note(_ place: String) { log.add("\(place): \(Caller.name)") }
        func callers(at place: String) -> [String] {
            log.entries.filter { $0.hasPrefix("\(place): ") }.map { String($0.dropFirst(place.count + 2)) }
        }
    }

    struct Noting: HTTPLoader {
        let place: String
        let notes: Notes
        func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
            notes.note(place)
            return try await next(request)
        }
    }

    struct NotingControl: RetryControl {
        let notes: Notes
        func shouldRetry(_ attempt: FailedAttempt) async -> RetryControlDecision {
            notes.note("retry")
            return attempt.number < 2 ? .retryAfter(1) : .noRetry
        }
    }

    struct NotingValidator: ResponseValidator {
        let notes: Notes
        func validate(for response: HTTPResponse) -> ResponseValidatorResult {
            notes.note("validator")
            return .valid
        }
    }

    private func rig(_ notes: Notes, _ configure: (inout Ness.Configuration) -> Void = { _ in }) -> Rig {
        Rig { configuration in
            for place in LoaderPlace.allCases { configuration.insert(Noting(place: "\(place)", notes: notes), at: place) }
            configuration.retryControl = NotingControl(notes: notes)
            configuration.validators = [NotingValidator(notes: notes)]
            configure(&configuration)
        }
    }

    @Test(
        "loaders, validators, the retry policy and an authentication have the caller's values, in each attempt", arguments: [false, true])
    func eachAttempt(isAwaited: Bool) async throws {
        let notes = Notes()
        let rig = rig(notes) {
            $0.authentication = RefreshableAuthentication(credential: "a") { credential in
                notes.note("credential")
                return ["Authorization": credential]
            } refresh: { _, _ in
                "b"
            }
        }
        rig.mock.on(.get, "/a", replies: [.status(503), .text("x")])
        let request = rig.ness.get("a")
        try await Caller.$name.withValue("caller") {
            _ = isAwaited ? try await request.response() : try await request.dataRequest().value.message
        }
        for place in ["attempt", "authenticated", "exchange", "credential"] {
            #expect(notes.callers(at: place) == ["caller", "caller"], "\(place)")
        }
        for place in ["call", "retry"] { #expect(notes.callers(at: place) == ["caller"], "\(place)") }
        #expect(Set(notes.callers(at: "validator")) == ["caller"])
    }

    @Test("code of a shared exchange has the values of the caller who started it, and all other code those of its own caller")
    func shared() async throws {
        let notes = Notes(), gate = TestGate()
        let rig = rig(notes)
        rig.mock.on(.get, "/a") { _ in
            await gate.wait()
            return .status(302, headers: ["Location": "/b"])
        }
        rig.mock.on(.get, "/b", replies: [.text("x")])
        let request = rig.ness.get("a")
        let first = Caller.$name.withValue("first") { request.dataRequest() }
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = Caller.$name.withValue("second") { request.dataRequest() }
        await notes.log.wait { $0.contains("authenticated: second") }
        gate.open()
        for promise in [first, second] { _ = try await promise.value }
        #expect(notes.callers(at: "exchange") == ["first", "first"])
        #expect(notes.callers(at: "call").sorted() == ["first", "second"])
        #expect(Set(notes.callers(at: "validator")) == ["first", "second"])
    }

    @Test("a refresh has the values of the caller whose request started it, and so do its requests")
    func refresh() async throws {
        let notes = Notes(), started = TestGate(), go = TestGate()
        let rig = Rig {
            $0.authentication = RefreshableAuthentication(credential: "old") {
                ["Authorization": $0]
            } refresh: { _, _ in
                notes.note("refresh")
                started.open()
                await go.wait()
                notes.note("refresh")
                return "new"
            }
        }
        for path in ["/a", "/b"] { rig.mock.on(.get, path) { $0.headers["Authorization"] == "new" ? .text("x") : .status(401) } }
        let first = Caller.$name.withValue("first") { rig.ness.get("a").dataRequest() }
        await started.wait()
        let second = Caller.$name.withValue("second") { rig.ness.get("b").dataRequest() }
        try await rig.ness.waitForRequests(2, at: .refresh)
        go.open()
        for promise in [first, second] { _ = try await promise.value }
        #expect(notes.callers(at: "refresh") == ["first", "first"])
    }

    @Test("a redirect decision and the closure of a body have the caller's values")
    func closures() async throws {
        let notes = Notes()
        let rig = Rig()
        rig.mock.on(.post, "/a", replies: [.status(307, headers: ["Location": "/b"])])
        rig.mock.on(.post, "/b", replies: [.text("x")])
        let body: @Sendable (HTTPBodyWriter) async throws -> Void = { writer in
            notes.note("body")
            try await writer.write(Data("x".utf8))
        }
        let redirects = RedirectPolicy.decide { _ in
            notes.note("redirect")
            return .follow
        }
        _ = try await Caller.$name.withValue("caller") {
            rig.ness.post("a").set(streamBody: body).set(redirects: redirects).dataRequest()
        }.value
        #expect(notes.callers(at: "redirect") == ["caller"])
        #expect(Set(notes.callers(at: "body")) == ["caller"])
    }
}
