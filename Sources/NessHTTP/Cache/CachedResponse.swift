import Foundation

/// A stored response and its lifetime (RFC 9111, 4.2). Ness never guesses a lifetime: without an explicit one it is zero.
struct CachedResponse: Sendable {
    let statusCode: Int
    let headers: HTTPHeaders
    let body: Data
    /// The time when the response arrived, or when the server last confirmed it.
    let received: Date
    /// The age of the response at `received`, in seconds.
    let initialAge: TimeInterval
    /// The digest of the request fields that `Vary` names. Empty without `Vary`.
    let variant: String
    /// The checksum of the body, if the response was read from a storage.
    let checksum: Data?

    private let control: CacheControl
    private let lifetime: TimeInterval

    /// Makes a stored response from its parts.
    init(statusCode: Int, headers: HTTPHeaders, body: Data, received: Date, initialAge: TimeInterval, variant: String, checksum: Data?) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.received = received
        self.initialAge = initialAge
        self.variant = variant
        self.checksum = checksum
        control = CacheControl(headers)
        lifetime = Self.lifetime(headers, control, received: received)
    }

    /// Makes a stored response from a complete response. Fails if the response must not be stored.
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The caller's request.
    ///   - sent: The time when the request was sent.
    ///   - received: The time when the response was complete.
    ///   - checksum: The checksum of the body, if it is known.
    init?(_ response: HTTPResponse, to request: HTTPRequest, sent: Date, received: Date, checksum: Data?) {
        guard response.isStorable(for: request), let variant = request.cacheVariant(varyingBy: response.headers) else { return nil }
        // RFC 9111, 4.2.3.
        let apparentAge = Self.date(HeaderName.date, in: response.headers).map { max(0, received.timeIntervalSince($0)) } ?? 0
        let age = response.headers.members(of: HeaderName.age).first.flatMap(CacheControl.seconds) ?? 0
        let delay = max(0, received.timeIntervalSince(sent))
        var headers = response.headers.withoutConnectionFields
        // The validators are those of the encoded content.
        if let coding = response.receivedHeaders[HeaderName.contentEncoding] { headers[HeaderName.contentEncoding] = coding }
        self.init(
            statusCode: response.statusCode, headers: headers, body: response.body, received: received,
            initialAge: max(apparentAge, age + delay), variant: variant, checksum: checksum)
        guard lifetime > 0 || (response.mayBeKeptForValidation && (hasValidator || longestTolerance > 0)) else { return nil }
    }

    // MARK: freshness

    /// The ways in which a stored response may be used.
    enum Use: Sendable, Hashable {
        /// The stored response is used for the request.
        case answer
        /// The stored response is used for the request, while a newer one is fetched in the background (RFC 5861, 3).
        case answerAndRevalidate
        /// The server has to validate the stored response first.
        case validate
    }

    /// Computes the age of the response in seconds (RFC 9111, 4.2.3).
    func age(at now: Date) -> TimeInterval { initialAge + max(0, now.timeIntervalSince(received)) }

    /// True if the lifetime has passed.
    func isStale(at now: Date) -> Bool { age(at: now) >= lifetime }

    /// Decides how the stored response may be used.
    /// - Parameters:
    ///   - wanted: The request's directives.
    ///   - now: The time.
    func use(for wanted: CacheControl, at now: Date) -> Use {
        // A response from the future was stored under another clock. Its age is unknown.
        guard !wanted.has("no-cache"), !control.has("no-cache"), received <= now else { return .validate }
        let age = age(at: now)
        if let limit = wanted.seconds("max-age"), age > limit { return .validate }
        let staleness = age - lifetime + (wanted.seconds("min-fresh") ?? 0)
        if staleness < 0 { return .answer }
        guard mayBeStale else { return .validate }
        if let allowed = wanted.seconds("max-stale", missing: .infinity), staleness <= allowed { return .answer }
        if wanted.has("min-fresh") || staleness >= tolerance("stale-while-revalidate") { return .validate }
        return .answerAndRevalidate
    }

    /// Checks whether the stored response may replace an error (RFC 5861, 4).
    func mayReplaceError(for wanted: CacheControl, at now: Date) -> Bool {
        guard mayBeStale, !wanted.has("no-cache"), received <= now else { return false }
        let age = age(at: now)
        if let limit = wanted.seconds("max-age"), age > limit { return false }
        return age - lifetime < max(tolerance("stale-if-error"), wanted.seconds("stale-if-error") ?? 0)
    }

    /// The time for which a storage should keep the response, in seconds. A week longer than the lifetime: the server may still confirm the
    /// response with a 304, and a request's `max-stale` may still allow it.
    func usefulTime(at now: Date) -> TimeInterval {
        max(0, lifetime + longestTolerance - age(at: now)) + 604_800
    }

    /// Returns true if the stored record need not be rewritten after a 304: only its time differs, and its time is never used.
    /// - Parameter older: The stored response, which the 304 confirmed.
    func isRecorded(with older: CachedResponse) -> Bool {
        func lasting(_ headers: HTTPHeaders) -> HTTPHeaders {
            var headers = headers
            headers.remove([HeaderName.age, HeaderName.date, HeaderName.setCookie])
            return headers
        }
        let isTimeless = lifetime == 0 && older.lifetime == 0 && longestTolerance == 0
        return older.checksum != nil && isTimeless && variant == older.variant && lasting(headers) == lasting(older.headers)
    }

    private var mayBeStale: Bool { !control.has("must-revalidate") && !control.has("no-cache") }

    private func tolerance(_ name: String) -> TimeInterval { control.seconds(name) ?? 0 }

    private var longestTolerance: TimeInterval { max(tolerance("stale-while-revalidate"), tolerance("stale-if-error")) }

    /// The explicit lifetime in seconds, or 0. At most 68 years, as for `max-age`: a server may set an `Expires` in the year 9999.
    private static func lifetime(_ headers: HTTPHeaders, _ control: CacheControl, received: Date) -> TimeInterval {
        if let seconds = control.seconds("max-age") { return seconds }
        // "0" and other invalid dates count as a time in the past (RFC 9111, 5.3).
        guard let expires = date(HeaderName.expires, in: headers) else { return 0 }
        return min(max(0, expires.timeIntervalSince(date(HeaderName.date, in: headers) ?? received)), 0x1p31)
    }

    static func date(_ name: String, in headers: HTTPHeaders) -> Date? {
        headers.values(for: name).first.flatMap(HTTPDate.parse)
    }

    /// True if the status is 400 or above. The status of any other stored response is a success, because redirects are not stored.
    var isFailure: Bool { statusCode >= 400 }

    private var hasValidator: Bool { headers.contains(HeaderName.entityTag) || headers.contains(HeaderName.lastModified) }

    // MARK: matching

    /// The size that counts towards the cache's memory limit, in bytes.
    var size: Int { headers.reduce(body.count + 256) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

    /// Checks whether the stored response matches the request fields that `Vary` names.
    func matches(_ request: HTTPRequest) -> Bool { isOnlyVariant || request.cacheVariant(varyingBy: headers) == variant }

    /// True if the response matches every request, because it has no `Vary`.
    var isOnlyVariant: Bool { variant.isEmpty }
}

/// Stored responses with one key, newest first.
extension [CachedResponse] {
    /// The most variants with one key. The limit bounds the time of a lookup.
    private static let limit = 8

    /// Returns these responses and a newer one, without those that no lookup would find any more.
    func adding(_ response: CachedResponse) -> [CachedResponse] {
        if response.isOnlyVariant { return [response] }
        return [response] + filter { $0.variant != response.variant }.prefix(Self.limit - 1)
    }
}
