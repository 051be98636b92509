import NessPromise

#if canImport(Network)
import Dispatch
import Network
#endif

extension NetworkTraits {
    /// Makes the traits that a request excludes.
    /// - Parameters:
    ///   - request: The request.
    ///   - reason: The raw value of `URLError.networkUnavailableReason`, if there is one. It also reports networks that the URLSession
    ///     excludes.
    init(refusedBy request: HTTPRequest, reason: Int? = nil) {
        self = request.settings.excludedNetworks
        // Foundation's reasons 0, 1, 2 are cellular, expensive, constrained: the order of the bits.
        if let reason, (0...2).contains(reason) { insert(NetworkTraits(rawValue: 1 << reason)) }
    }

    #if canImport(Network)
    private init(of path: NWPath) {
        self = []
        if path.usesInterfaceType(.cellular) { insert(.cellular) }
        if path.isExpensive { insert(.expensive) }
        if path.isConstrained { insert(.constrained) }
    }

    /// Waits until there is a network that has none of these traits.
    /// - Parameter limit: The longest wait, in real time.
    /// - Throws: An error if the limit has passed, or if the task is canceled.
    func waitForOther(atMost limit: Duration = .seconds(1_000_000_000)) async throws {
        let (network, resolver) = Promise<Void>.pending()
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { path in
            if path.status == .satisfied, NetworkTraits(of: path).isDisjoint(with: self) { resolver.resolve(()) }
        }
        monitor.start(queue: DispatchQueue(label: "ness.network"))
        defer { monitor.cancel() }
        try await network.timeout(after: limit).value
    }
    #endif
}
