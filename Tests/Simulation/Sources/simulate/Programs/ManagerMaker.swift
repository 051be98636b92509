import Foundation
import NessHTTP

/// Makes the manager of a program.
struct ManagerMaker {
    private let plan: ManagerPlan
    private let world: World
    private let log: EventLog
    private let authentication: RefreshableAuthentication<String>?
    private let folder: URL

    init(
        _ plan: ManagerPlan, _ world: World, _ log: EventLog, _ authentication: RefreshableAuthentication<String>?, _ folder: URL
    ) {
        (self.plan, self.world, self.log, self.authentication, self.folder) = (plan, world, log, authentication, folder)
    }

    func make() -> Ness {
        Ness { [self] in
            $0.transport = SimulatedTransport(plan.stopping) { [world] connection in try await world.serve(connection) }
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
            if plan.cookies { $0.cookies = CookieJar() }
            if plan.observers { $0.observers = [log] }
            $0.authentication = authentication
            $0.duplicatedHandler = duplicates
            switch plan.cache {
            case .memory: $0.cache = HTTPCache(memoryLimit: 1 << 20)
            case .disk: $0.cache = HTTPCache(memoryLimit: 1_000, folder: folder.appending(path: "cache"), diskLimit: 1 << 20)
            case nil: break
            }
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
