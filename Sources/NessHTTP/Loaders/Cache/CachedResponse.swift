import Foundation

/// A response that is stored, and for how long it is good (RFC 9111, 4.2). No lifetime is ever guessed: what says none has none.
struct CachedResponse: Sendable {
    let statusCode: Int
    let headers: HTTPHeaders
    let body: Data
    /// When it came, or was last found to be still good.
    let received: Date
    /// How old it was then.
    let initialAge: TimeInterval
    /// What stands for the fields of the request that `Vary` names.
    let variant: String

    private let control: CacheControl
    private let lifetime: TimeInterval

    /// Makes a stored response of its parts.
    init(statusCode: Int, headers: HTTPHeaders, body: Data, received: Date, initialAge: TimeInterval, variant: String) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.received = received
        self.initialAge = initialAge
        self.variant = variant
        control = CacheControl(headers)
        lifetime = Self.lifetime(headers, control, received: received)
    }

    /// Makes a stored response of one that came whole; nil where it is not to be stored.
    /// - Parameters:
    ///   - response: The response.
    ///   - request: What the caller asked for.
    ///   - sent: When that was sent.
    ///   - received: When the response had come.
    init?(_ response: HTTPResponse, to request: HTTPRequest, sent: Date, received: Date) {
        guard response.isStorable(for: request), let variant = request.cacheVariant(by: response.headers) else { return nil }
        // RFC 9111, 4.2.3.
        let apparentAge = Self.date(HeaderName.date, in: response.headers).map { max(0, received.timeIntervalSince($0)) } ?? 0
        let age = response.headers.members(of: HeaderName.age).first.flatMap(CacheControl.seconds) ?? 0
        let delay = max(0, received.timeIntervalSince(sent))
        self.init(
            statusCode: response.statusCode, headers: response.headers.withoutConnectionFields, body: response.body, received: received,
            initialAge: max(apparentAge, age + delay), variant: variant)
        let mayBeAskedAbout = hasValidator || tolerance("stale-while-revalidate") > 0 || tolerance("stale-if-error") > 0
        guard lifetime > 0 || (response.isKept && mayBeAskedAbout) else { return nil }
    }

    // MARK: freshness

    /// What a stored response may be used for.
    enum Use: Sendable, Hashable {
        /// To answer.
        case answer
        /// To answer, while a newer one is got (RFC 5861, 3).
        case answerAndRevalidate
        /// To be asked about.
        case validate
    }

    /// How old it is (RFC 9111, 4.2.3).
    func age(at now: Date) -> TimeInterval { initialAge + max(0, now.timeIntervalSince(received)) }

    /// What it may be used for.
    /// - Parameters:
    ///   - wanted: The request's directives.
    ///   - now: The time.
    func use(for wanted: CacheControl, at now: Date) -> Use {
        // What comes from the future was stored by another clock: its age is not known.
        guard !wanted.has("no-cache"), !control.has("no-cache"), received <= now else { return .validate }
        let age = age(at: now)
        if let limit = wanted.seconds("max-age"), age > limit { return .validate }
        let staleness = age - lifetime + (wanted.seconds("min-fresh") ?? 0)
        if staleness < 0 { return .answer }
        guard mayBeStale else { return .validate }
        if let allowed = wanted.seconds("max-stale", missing: .infinity), staleness <= allowed { return .answer }
        return wanted.has("min-fresh") || staleness >= tolerance("stale-while-revalidate") ? .validate : .answerAndRevalidate
    }

    /// Whether it may stand in for a failure (RFC 5861, 4).
    func mayReplaceError(for wanted: CacheControl, at now: Date) -> Bool {
        guard mayBeStale, !wanted.has("no-cache"), received <= now else { return false }
        let age = age(at: now)
        if let limit = wanted.seconds("max-age"), age > limit { return false }
        return age - lifetime < max(tolerance("stale-if-error"), wanted.seconds("stale-if-error") ?? 0)
    }

    private var mayBeStale: Bool { !control.has("must-revalidate") && !control.has("no-cache") }

    private func tolerance(_ name: String) -> TimeInterval { control.seconds(name) ?? 0 }

    private static func lifetime(_ headers: HTTPHeaders, _ control: CacheControl, received: Date) -> TimeInterval {
        if let seconds = control.seconds("max-age") { return seconds }
        // "0" and whatever else is no date is in the past (RFC 9111, 5.3).
        guard let expires = date(HeaderName.expires, in: headers) else { return 0 }
        return max(0, expires.timeIntervalSince(date(HeaderName.date, in: headers) ?? received))
    }

    static func date(_ name: String, in headers: HTTPHeaders) -> Date? {
        headers.values(for: name).first.flatMap(HTTPDate.parse)
    }

    // MARK: matching

    /// What it costs to keep it.
    var size: Int { headers.reduce(body.count + 256) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

    /// Whether a request is one of those that it answers.
    func matches(_ request: HTTPRequest) -> Bool { request.cacheVariant(by: headers) == variant }

    var hasValidator: Bool { headers.contains(HeaderName.entityTag) || headers.contains(HeaderName.lastModified) }
}
