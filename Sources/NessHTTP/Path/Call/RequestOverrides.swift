/// The loaders, observers and transport of one request, in addition to the manager's. A class, so that a request without them pays for one
/// word only.
final class RequestOverrides: Sendable {
    let loaders: PlacedLoaders
    let observers: [any RequestObserver]
    /// The transport in place of the manager's; `nil` for none. A request with its own transport shares no flight with others.
    let transport: (any Transport)?

    private init(_ loaders: PlacedLoaders, _ observers: [any RequestObserver], _ transport: (any Transport)?) {
        self.loaders = loaders
        self.observers = observers
        self.transport = transport
    }

    /// Returns the overrides of a request after others were added.
    static func adding(
        loaders: [any HTTPLoader] = [], at place: LoaderPlace = .attempt, observers: [any RequestObserver] = [],
        transport: (any Transport)? = nil, to earlier: RequestOverrides?
    ) -> RequestOverrides {
        var all = earlier?.loaders ?? PlacedLoaders()
        all[place] += loaders
        return RequestOverrides(all, (earlier?.observers ?? []) + observers, transport ?? earlier?.transport)
    }
}
