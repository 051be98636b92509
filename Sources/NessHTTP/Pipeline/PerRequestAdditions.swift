/// The loaders and observers that one request has besides the manager's. A class, so that other requests pay for one word.
final class PerRequestAdditions: Sendable {
    let loaders: PlacedLoaders
    let observers: [any RequestObserver]

    private init(_ loaders: PlacedLoaders, _ observers: [any RequestObserver]) {
        self.loaders = loaders
        self.observers = observers
    }

    /// Returns the additions of a request after others were added.
    static func adding(
        loaders: [any HTTPLoader] = [], at place: LoaderPlace = .attempt, observers: [any RequestObserver] = [],
        to earlier: PerRequestAdditions?
    ) -> PerRequestAdditions {
        var all = earlier?.loaders ?? PlacedLoaders()
        all[place] += loaders
        return PerRequestAdditions(all, (earlier?.observers ?? []) + observers)
    }
}
