import Foundation
import NessHTTP
import NessTesting
import TestSupport
import Testing

/// Requests share an exchange only if they differ in nothing but what is known to make no difference. See ruling C33.
@Suite("Duplicates: identity", .inTurn(.withoutSockets)) struct IdentityTests {
    enum Tenant: RequestOptionKey { static let defaultValue = "" }
    enum Label: RequestOptionKey {
        static let defaultValue = ""
        static let distinguishesRequests = false
    }
    struct Opaque: Sendable { let account = 1 }
    enum Account: RequestOptionKey { static let defaultValue = Opaque() }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isShared: Bool
        let first: @Sendable (RequestBuilder) -> RequestBuilder
        var second: @Sendable (RequestBuilder) -> RequestBuilder = { $0 }
    }

    private static let passing = ClosureLoader { request, next in try await next(request) }

    static let cases = [
        Case(testDescription: "equal requests", isShared: true) { $0 },
        Case(testDescription: "a loader at .exchange", isShared: false) { $0.add(loaders: [passing], at: .exchange) },
        Case(testDescription: "the same loader at .exchange", isShared: false) {
            $0.add(loaders: [passing], at: .exchange)
        } second: {
            $0.add(loaders: [passing], at: .exchange)
        },
        Case(testDescription: "a loader above the sharing", isShared: true) { $0.add(loaders: [passing], at: .authenticated) },
        Case(testDescription: "an option", isShared: false) { $0.set(option: Tenant.self, to: "a") },
        Case(testDescription: "two values", isShared: false) {
            $0.set(option: Tenant.self, to: "a")
        } second: {
            $0.set(option: Tenant.self, to: "b")
        },
        Case(testDescription: "one value", isShared: true) {
            $0.set(option: Tenant.self, to: "a")
        } second: {
            $0.set(option: Tenant.self, to: "a")
        },
        Case(testDescription: "the default value", isShared: true) { $0.set(option: Tenant.self, to: "") },
        Case(testDescription: "an option that opts out", isShared: true) { $0.set(option: Label.self, to: "a") },
        Case(testDescription: "a value that cannot be compared", isShared: false) {
            $0.set(option: Account.self, to: Opaque())
        } second: {
            $0.set(option: Account.self, to: Opaque())
        },
        Case(testDescription: "maximumResponseBytes", isShared: false) { $0.set(maximumResponseBytes: 100) },
        Case(testDescription: "connectTimeout", isShared: false) { $0.set(connectTimeout: .seconds(3)) },
        Case(testDescription: "withoutCookies", isShared: false) { $0.withoutCookies() },
        Case(testDescription: "withoutQueueing", isShared: false) { $0.withoutQueueing() },
        Case(testDescription: "networks", isShared: false) { $0.set(allowsCellularAccess: false) },
        Case(testDescription: "isIdempotent", isShared: false) { $0.set(isIdempotent: false) },
        Case(testDescription: "redirects", isShared: false) { $0.set(redirects: .stop) },
        Case(testDescription: "insecure redirects", isShared: false) { $0.set(redirects: .follow(), allowsInsecure: true) },
        Case(testDescription: "a secret field, which no redirect takes to another origin", isShared: false) {
            $0.set(header: "X-Badge", to: "1").set(secretNames: ["X-Badge"])
        } second: {
            $0.set(header: "X-Badge", to: "1")
        },
        Case(testDescription: "the manager's credential, which no redirect takes out of the base URL", isShared: false) {
            $0
        } second: {
            $0.set(header: "Authorization", to: "Bearer t")
        },
        Case(testDescription: "time limits", isShared: true) {
            $0.set(timeout: .seconds(9), firstByteTimeout: .seconds(8), deadline: .seconds(99))
        },
        Case(testDescription: "priority, validators and retries", isShared: true) {
            $0.set(priority: .high).validate(statusCode: 200).set(retry: Eager())
        },
    ]

    @Test("requests share an exchange only if they differ in nothing but what concerns one caller", arguments: cases)
    func identity(of one: Case) async throws {
        let gate = TestGate(), tally = Tally()
        // A request that finds a duplicate fails immediately.
        let rig = Rig {
            $0.duplicatedHandler = CountingHandler(.ignoreCurrentCompletion)
            $0.authentication = BearerAuthentication(token: "t")
        }
        rig.mock.on(.get, "/x") { _ in
            if tally.enter() == 0 { await gate.wait() }
            return .status(200)
        }
        let first = one.first(rig.ness.get("x")).dataRequest()
        await tally.wait(for: 1)
        let outcomes: [Result<DataResult, any Error>] = await Promise.allSettled([one.second(rig.ness.get("x")).dataRequest()])
        let isShared = if case .failure(let error as NessError) = outcomes.first { error.kind == .duplicate } else { false }
        #expect(isShared == one.isShared)
        gate.open()
        _ = try await first.value
    }

    @Test("a caller never gets the response to a request that another caller's loader has changed") func changedBelow() async throws {
        let gate = TestGate()
        let rig = Rig()
        rig.mock.on(.get, "/x", after: gate) { .text("for \($0.headers["X-User"] ?? "nobody")") }
        let first = rig.ness.get("x").add(loaders: [.modifyRequest { $0.headers["X-User"] = "A" }], at: .exchange).dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 1 }
        let second = rig.ness.get("x").dataRequest()
        await rig.mock.waitUntil { $0.requests.count == 2 }
        gate.open()
        #expect(try await first.value.message.text == "for A")
        #expect(try await second.value.message.text == "for nobody")
    }
}
