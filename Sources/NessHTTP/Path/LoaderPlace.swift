/// A place for the application's loaders on the way of a request.
///
/// | place | how often a loader runs | what it sees |
/// |---|---|---|
/// | `.call` | once a request | the request as the caller made it; the outcome of all attempts |
/// | `.attempt` | each attempt | the absolute URL, the default headers and the delegate's changes; no credential |
/// | `.authenticated` | each attempt and each step of a resumable upload, and again after a renewed credential | the credential and the cookies: all that tells requests apart in the cache and among duplicates |
/// | `.exchange` | each time that something is sent: each redirect, each range of a download, each step of a resumable upload; once for all callers who share an exchange | what is sent, after all queues |
public enum LoaderPlace: Sendable, Hashable, CaseIterable {
    /// Once a request, regardless of the number of its attempts. No validator checks a response that a loader makes here itself.
    case call
    /// Each attempt, before the credential is added.
    case attempt
    /// Each attempt, with the credential and the cookies, above the cache and the sharing of duplicates.
    case authenticated
    /// Each request that is sent, once it has left all queues. The idle timeout runs during a loader here. Ness checks the changed request
    /// again before it sends it.
    case exchange
}

/// The application's loaders by place.
struct PlacedLoaders: Sendable {
    private var lists: [LoaderPlace: [any HTTPLoader]] = [:]

    subscript(place: LoaderPlace) -> [any HTTPLoader] {
        get { lists[place] ?? [] }
        set { lists[place] = newValue }
    }

    /// All loaders, outermost first.
    var all: [any HTTPLoader] { LoaderPlace.allCases.flatMap { self[$0] } }

    /// True if any loader runs above the sharing of flights.
    var areAboveSharing: Bool { !self[.call].isEmpty || !self[.attempt].isEmpty || !self[.authenticated].isEmpty }
}
