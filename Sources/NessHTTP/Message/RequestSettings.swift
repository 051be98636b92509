/// The settings of a request that may change what is sent, or what becomes of it.
///
/// Requests with different settings share no exchange, and a new setting counts by itself. Values that concern one caller alone, such as a
/// timeout, do not belong here.
struct RequestSettings: Hashable, Sendable {
    /// The most bytes of the response's body; `nil` for the manager's limit.
    var maximumResponseBytes: Int?
    /// The longest time until a connection is ready; `nil` for the manager's limit.
    var connectTimeout: Duration?
    /// True if the request neither sends nor stores cookies of the manager's jar.
    var bypassesCookies = false
    /// True if the request skips the throttle and both queues.
    var bypassesQueues = false
    /// True if a redirect may lead from https to http.
    var allowsInsecureRedirects = false
    /// True if repeating the request is harmless; `nil` if that depends on the method.
    var isIdempotent: Bool?
    /// The traits of networks that the request must not use.
    var excludedNetworks: NetworkTraits = []

    /// Adds the caller's settings to those of a request that a loader made. `isIdempotent` and `allowsInsecureRedirects` are not inherited,
    /// because they do not follow from the caller's request.
    mutating func inherit(_ caller: RequestSettings) {
        maximumResponseBytes = maximumResponseBytes ?? caller.maximumResponseBytes
        connectTimeout = connectTimeout ?? caller.connectTimeout
        bypassesCookies = bypassesCookies || caller.bypassesCookies
        bypassesQueues = bypassesQueues || caller.bypassesQueues
        excludedNetworks.formUnion(caller.excludedNetworks)
    }

    /// Resets the settings on which a stored response does not depend. `bypassesCookies` is one of them: the cookies themselves are part of
    /// the cache key, as the user's name or credential.
    mutating func forgetExchange() {
        (maximumResponseBytes, connectTimeout, isIdempotent, excludedNetworks) = (nil, nil, nil, [])
        (bypassesCookies, bypassesQueues, allowsInsecureRedirects) = (false, false, false)
    }
}

/// The traits of a network that a request may exclude.
struct NetworkTraits: OptionSet, Sendable, Hashable {
    let rawValue: Int

    // Foundation's reasons 0, 1, 2 are cellular, expensive, constrained: the order of the bits.
    static let cellular = NetworkTraits(rawValue: 1)
    static let expensive = NetworkTraits(rawValue: 2)
    static let constrained = NetworkTraits(rawValue: 4)
}
