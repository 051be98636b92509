/// The loaders and observers that one request brings. A class, so that other requests pay for one word.
final class OwnStages: Sendable {
    let loaders: [any HTTPLoader]
    let observers: [any RequestObserver]

    init(loaders: [any HTTPLoader] = [], observers: [any RequestObserver] = []) {
        self.loaders = loaders
        self.observers = observers
    }

    /// Returns the stages of a request after others were added.
    static func adding(loaders: [any HTTPLoader] = [], observers: [any RequestObserver] = [], to earlier: OwnStages?) -> OwnStages {
        OwnStages(loaders: (earlier?.loaders ?? []) + loaders, observers: (earlier?.observers ?? []) + observers)
    }
}
