/// The loaders and observers that one request brings. A class, so that other requests pay for one word.
final class OwnStages: Sendable {
    let loaders: PlacedLoaders
    let observers: [any RequestObserver]

    private init(_ loaders: PlacedLoaders, _ observers: [any RequestObserver]) {
        self.loaders = loaders
        self.observers = observers
    }

    /// Returns the stages of a request after others were added.
    static func adding(
        loaders: [any HTTPLoader] = [], at place: LoaderPlace = .attempt, observers: [any RequestObserver] = [], to earlier: OwnStages?
    ) -> OwnStages {
        var all = earlier?.loaders ?? PlacedLoaders()
        all[place] += loaders
        return OwnStages(all, (earlier?.observers ?? []) + observers)
    }
}
