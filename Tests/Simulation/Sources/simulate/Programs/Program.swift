import Foundation
import NessHTTP

/// A random program: one or more managers, and what several actors do with them. As JSON it is kept in `Found`, and needs no generator
/// there. Properties that are newer than the first files are optional.
struct Program: Codable, Sendable {
    /// The stores that managers share.
    struct Shared: Codable, Sendable {
        /// True if all managers with a cache have the same one, of the first manager's kind.
        var cache = false
        /// True if all managers with a cookie jar have the same one.
        var cookies = false
    }

    /// Decides each step of the scheduler.
    var seed: UInt64
    var manager: ManagerPlan
    /// The managers after the first.
    var others: [ManagerPlan]?
    var shared: Shared?
    var operations: [Operation]

    var managers: [ManagerPlan] { [manager] + (others ?? []) }

    /// The managers that use the cache of a manager, itself included.
    func managers(withCacheOf index: Int) -> Set<Int> {
        guard shared?.cache == true, managers[index].cache != nil else { return [index] }
        return Set(managers.indices.filter { managers[$0].cache != nil })
    }

    /// The managers that use the cookie jar of a manager, itself included.
    func managers(withCookiesOf index: Int) -> Set<Int> {
        guard shared?.cookies == true, managers[index].cookies else { return [index] }
        return Set(managers.indices.filter { managers[$0].cookies })
    }
}

/// The configuration of a manager. Each feature may be left out.
struct ManagerPlan: Codable, Sendable {
    enum Cache: String, Codable, Sendable, CaseIterable { case memory, disk }
    enum Duplicates: String, Codable, Sendable, CaseIterable {
        case dropPrevious, keepAll, keepFirst, keepLatest, separate
        /// A different decision each time, including the closures.
        case random
    }
    struct Loader: Codable, Sendable {
        enum Kind: String, Codable, Sendable, CaseIterable {
            case passes
            /// Runs the rest in a task that no drop cancels.
            case ignoresCancellation
            /// Sends a separate request before the caller's.
            case sendsAnother
            /// Sends the request again after a 5xx.
            case repeats
            case waits
        }
        /// The index in `LoaderPlace.allPlaces`.
        var place: Int
        var kind: Kind
    }

    var stopping = SimulatedTransport.Stopping.controlled
    var retries: Int?
    var repeatsRefused = false
    var budget = false
    var breaker = false
    var rate: Double?
    var hostLimit = 6
    var total: Int?
    var cache: Cache?
    var cookies = false
    var authentication = false
    var refreshesAhead = false
    var duplicates: Duplicates?
    var loaders: [Loader] = []
    var observers = false
    var timeout = 60_000
    var deadline: Int?
    /// The user who is signed in at the start.
    var user: Int?
}

/// One step of an actor, which comes a number of milliseconds after its step before.
struct Operation: Codable, Sendable {
    /// A reference to a request names its operation's identifier, so that removing others changes nothing.
    enum Action: Codable, Sendable {
        case send(RequestPlan)
        case drop(Int)
        case pause(Int)
        case resume(Int)
        /// Waits for the outcome of a request.
        case wait(Int)
        case dropAll
        case reset
        case signIn(user: Int)
        case signOut
        case switchEnvironment
        case setLimit(Int)
        case shutDown(Int)
        /// Removes all responses from the manager's cache.
        case clearCache
        /// Removes a user's responses from the manager's cache.
        case forget(user: Int)
    }

    var id: Int
    var actor: Int
    /// The index of the manager; the first if `nil`. An operation on a request uses that request's manager.
    var manager: Int?
    var delay: Int
    var action: Action
}

/// One request of a program.
struct RequestPlan: Codable, Sendable {
    enum Kind: String, Codable, Sendable, CaseIterable { case data, decoded, stream, events, download, segments, upload }

    var kind = Kind.data
    var method = "GET"
    /// The address: `https://a.test/resource/1`, or one relative to the base URL.
    var url: String
    /// The faults of its exchanges, in order. Those after the last succeed.
    var faults: [Fault] = []
    var timeout: Int?
    var deadline: Int?
    var retries: Int?
    var isIdempotent = false
    /// The number of the file that a download writes.
    var file = 0
    /// True to wait for the outcome in the actor's task, which is then canceled at a drop.
    var isAwaited = false
    /// The `Range` that the application sets.
    var range: String?
    var reading: Reading?
}

/// The way in which a stream is read. Without one, it is read to its end as fast as it arrives.
struct Reading: Codable, Sendable {
    enum Stop: String, Codable, Sendable, CaseIterable {
        /// Reads on after a while.
        case waits
        /// Leaves the loop.
        case leaves
        /// Drops the promise, and reads on.
        case drops
    }

    /// The time between two chunks, in milliseconds.
    var pause = 0
    /// The number of chunks after which the reader stops; `nil` for never.
    var stopsAfter: Int?
    var stop = Stop.waits
    /// The time for which the reader stops, in milliseconds.
    var wait = 0
}

/// A fault in one exchange.
enum Fault: String, Codable, Sendable, CaseIterable {
    case none
    case offline, refused, unsent, tls
    case lostBefore, lostAfter, lostInHead, lostAfterHead, lostAtTheEnd
    case truncated, malformed, timedOut
    case stalledBefore, stalledAfter, stalledInBody
    case delayed, slowBody, interim, interimForLong
    case status408, status408Stale, status421, status425, status429, status429RetryAfter, status429Date
    case status500, status502, status503, status503RetryAfter, status504
    case closedOnUse
    /// A 206 that the request did not ask for, or one that does not match its `Range`.
    case partUnasked, partWithoutRange, partElsewhere, partOfOther, partShort

    /// True if the server may act before the fault.
    var follows: Bool {
        switch self {
        case .lostAfter, .lostInHead, .lostAfterHead, .lostAtTheEnd, .truncated, .stalledAfter, .stalledInBody, .status500: true
        default: false
        }
    }

    /// True if the response is a 206 that does not match the request.
    var isPart: Bool { [.partUnasked, .partWithoutRange, .partElsewhere, .partOfOther, .partShort].contains(self) }
}
