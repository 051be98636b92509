import Foundation
import NessHTTP

/// The stores of a manager.
struct Stores: Sendable {
    var cache: HTTPCache?
    var cookies: CookieJar?

    /// Makes the stores of all managers of a program. A folder belongs to one cache.
    static func all(of program: Program, in folder: URL) -> [Stores] {
        let first = program.managers.indices.map { index in
            let plan = program.managers[index]
            return Stores(cache: cache(plan.cache, folder.appending(path: "cache\(index)")), cookies: plan.cookies ? CookieJar() : nil)
        }
        return first.indices.map { index in
            var stores = first[index]
            if stores.cache != nil { stores.cache = program.managers(withCacheOf: index).min().flatMap { first[$0].cache } }
            if stores.cookies != nil { stores.cookies = program.managers(withCookiesOf: index).min().flatMap { first[$0].cookies } }
            return stores
        }
    }

    private static func cache(_ kind: ManagerPlan.Cache?, _ folder: URL) -> HTTPCache? {
        switch kind {
        case .memory: HTTPCache(memoryLimit: 1 << 20)
        case .disk: HTTPCache(memoryLimit: 1_000, storage: CacheFolder(folder, limit: 1 << 20))
        case nil: nil
        }
    }
}

/// Makes a manager of a program.
struct ManagerMaker {
    let plan: ManagerPlan
    /// The index of the manager in its program.
    let index: Int
    let world: World
    let log: EventLog
    let authentication: RefreshableAuthentication<String>?
    let stores: Stores

    func make() -> Ness {
        Ness { [self] in
            $0.transport = SimulatedTransport(plan.stopping) { [world, index] connection in try await world.serve(connection, index) }
            $0.baseURL = URL(string: "https://a.test/")
            $0.defaultHeaders = [World.secretHeader: "secret-key-1"]
            $0.headersIgnoredInDuplicates = ["X-Operation"]
            $0.allowsInsecureRedirects = true
            $0.timeout = .milliseconds(plan.timeout)
            $0.deadline = plan.deadline.map { .milliseconds($0) }
            $0.maximumConnectionsPerHost = plan.hostLimit
            $0.maximumConcurrentRequests = plan.total
            $0.throttle = plan.rate.map { ThrottleLimit(rate: $0) }
            if let count = plan.retries {
                $0.retryControl = BackoffRetryControl(maxRetryCount: count, repeatsRefused: plan.repeatsRefused ? [425, 429, 503] : [])
            }
            if plan.budget { $0.retryBudget = RetryBudget(ratio: 0.1, minimum: 2) }
            if plan.breaker { $0.circuitBreaker = CircuitBreakerLimit(failureRatio: 0.5, minimumRequests: 3, openDuration: .seconds(2)) }
            $0.cookies = stores.cookies
            $0.cache = stores.cache
            if plan.observers { $0.observers = [log] }
            $0.authentication = authentication
            $0.duplicatedHandler = duplicates
            for loader in plan.loaders { $0.insert(made(loader.kind), at: LoaderPlace.allPlaces[loader.place]) }
        }
    }

    private var duplicates: (any DuplicatedHandler)? {
        switch plan.duplicates {
        case .dropPrevious: DefaultDuplicatedHandler.dropPreviousRequest
        case .keepAll: DefaultDuplicatedHandler.keepAllCompletion
        case .keepFirst: DefaultDuplicatedHandler.keepFirstCompletion
        case .keepLatest: DefaultDuplicatedHandler.keepLatestCompletion
        case .separate: DefaultDuplicatedHandler.requestAllSeparately
        case .random: RandomHandler()
        case nil: nil
        }
    }

    private struct RandomHandler: DuplicatedHandler {
        func decide(on duplicate: DuplicatedRequest) -> RequestDuplicatedDecision {
            switch Int.random(in: 0..<7) {
            case 0: .dropAndRequestAgain
            case 1: .dropAndRequestAgainWithCompletion { _ in }
            case 2: .ignoreCurrentCompletion
            case 3: .useCurrentCompletion
            case 4: .useBothCompletion
            case 5: .useCompletion { _ in }
            default: .requestSeparately
            }
        }
    }

    private func made(_ kind: ManagerPlan.Loader.Kind) -> ClosureLoader {
        switch kind {
        case .passes: .loader { request, next in try await next(request) }
        case .ignoresCancellation: .loader { request, next in try await Task { try await next(request) }.value }
        case .sendsAnother:
            .loader { request, next in
                var other = HTTPRequest(url: URL(string: "https://b.test/resource/other") ?? request.url)
                other.timeout = .seconds(1)
                _ = try? await next(other)
                return try await next(request)
            }
        case .repeats: .followUp { response in response.statusCode >= 500 && response.request.method.isSafe ? .retry : .accept }
        case .waits:
            .loader { request, next in
                try await Task.sleep(for: .milliseconds(5))
                let response = try await next(request)
                try await Task.sleep(for: .milliseconds(5))
                return response
            }
        }
    }
}
