import Foundation
import NessHTTP

/// All that an inspector has seen of one request.
///
/// It keeps the values that the observer received, which costs the request little. Their secrets are removed when a page asks for them.
struct RequestRecord: Sendable {
    /// A call of the observer.
    enum Event: Sendable {
        case warning(String)
        case attempt
        case wait(WaitingPlace)
        case waited(WaitingPlace)
        case refresh
        case begin(RequestExchange)
        case network
        case head(HTTPResponse, exchange: Int)
        case end(exchange: Int, Outcome)
        case receive
        case retry(reason: String)
        case pause
        case resume
        case outcome(Outcome, RequestMetrics)
    }

    /// The largest number of events, apart from the outcome: a request may be retried for days.
    static let eventLimit = 2_000

    /// The number on the page, counted from 1 in the order of the starts.
    let number: Int
    /// The request as the caller made it.
    private(set) var request: KeptRequest
    /// The request of the first attempt, whose URL is absolute.
    private(set) var sent: HTTPRequest?
    /// The time from the inspector's start to the request's start.
    let start: Duration
    /// The events, each with the time since the inspector's start.
    private(set) var events: [(event: Event, time: Duration)] = []
    /// The time of the request's end; `nil` while it runs.
    private(set) var end: Duration?
    /// The number of bytes of bodies in the events. Callers who share an exchange share its body, which counts for the first.
    private(set) var bytes: Int
    /// The number of the inspector's change that changed this record last.
    private(set) var change: Int
    /// The lengths of the requests' bodies that were removed, by exchange.
    private(set) var removedLengths: [Int: Int64] = [:]
    /// The exchanges that other callers have started.
    private var joined: Set<Int> = []
    private let limits: Inspector.Limits

    init(number: Int, request: HTTPRequest, start: Duration, change: Int, limits: Inspector.Limits) {
        (self.number, self.start, self.change, self.limits) = (number, start, change, limits)
        self.request = KeptRequest(request, bodyLimit: limits.maximumBodyBytes)
        bytes = self.request.value.body?.data?.count ?? 0
        // Enough for most requests.
        events.reserveCapacity(12)
    }

    /// True if events are missing, because there were too many.
    var isCut: Bool { events.count >= Self.eventLimit }

    /// Adds an event.
    /// - Parameters:
    ///   - event: The event.
    ///   - time: The time since the inspector's start.
    ///   - change: The number of the inspector's change.
    /// - Returns: The number of bytes of bodies that were added.
    mutating func add(_ event: Event, at time: Duration, change: Int) -> Int {
        self.change = change
        let before = bytes
        switch event {
        case .outcome(var outcome, let metrics):
            // The last exchange has the body of a response from the network.
            keepBody(of: &outcome, counts: outcome.response?.source != .network)
            events.append((.outcome(outcome, metrics), time))
        case _ where isCut: break
        case .end(let exchange, var outcome):
            keepBody(of: &outcome, counts: !joined.contains(exchange))
            events.append((.end(exchange: exchange, outcome), time))
        case .begin(var exchange):
            if exchange.isJoined { joined.insert(exchange.id) }
            var kept = KeptRequest(exchange.request, bodyLimit: limits.maximumBodyBytes)
            // Most exchanges send the caller's body, whose start is kept already.
            if kept.removedLength != nil, kept.removedLength == request.removedLength { kept.value.body = request.value.body }
            exchange.request = kept.value
            removedLengths[exchange.id] = kept.removedLength
            events.append((.begin(exchange), time))
        default: events.append((event, time))
        }
        return bytes - before
    }

    /// Adds the start of an attempt.
    mutating func addAttempt(_ request: HTTPRequest, at time: Duration, change: Int) {
        if sent == nil {
            sent = request
            // Only its URL is needed.
            if request.body != nil { sent?.body = nil }
        }
        _ = add(.attempt, at: time, change: change)
    }

    /// Ends the record.
    mutating func finish(at time: Duration, change: Int) { (end, self.change) = (time, change) }

    /// Removes a body that is too long, or for which the request has no room left.
    private mutating func keepBody(of outcome: inout Outcome, counts: Bool) {
        let room = max(0, limits.maximumBytes / 8 - bytes)
        outcome.trim(to: min(max(0, limits.maximumBodyBytes), counts ? room : .max))
        if counts { bytes += outcome.response?.body.count ?? 0 }
    }
}

/// A request without a body that is too long to keep.
struct KeptRequest: Sendable {
    var value: HTTPRequest
    /// The length of the body, if it was removed.
    private(set) var removedLength: Int64?

    init(_ value: HTTPRequest, removedLength: Int64?) { (self.value, self.removedLength) = (value, removedLength) }

    init(_ request: HTTPRequest, bodyLimit: Int) {
        value = request
        guard let body = request.body, let data = body.data, data.count > bodyLimit else { return }
        removedLength = Int64(data.count)
        // Enough to recognize the secrets in it, as in a log.
        value.body = HTTPBody(Data(data.prefix(64 << 10)), headers: body.headers)
    }
}

/// The end of an exchange, or of a request.
struct Outcome: Sendable {
    /// The response; of a failure the one that the error contains.
    private(set) var response: HTTPResponse?
    /// The error in a few words; `nil` for a success.
    let error: String?
    /// The error with its request and its response.
    let description: String?
    /// True for the error of a drop.
    let isDrop: Bool
    /// The length of the response's body, if it was removed.
    private(set) var removedLength: Int?

    init(_ result: Result<HTTPResponse, any Error>) {
        switch result {
        case .success(let response): (self.response, error, description, isDrop) = (response, nil, nil, false)
        case .failure(let failure as NessError):
            (response, isDrop) = (failure.response, failure.kind == .dropped)
            (error, description) = ("\(failure.kind): \(failure.context.shownReason)", failure.description)
        case .failure(let failure):
            // Of another error only the type is shown, because its text may contain secrets.
            let text = failure is CancellationError ? "canceled: the request succeeded without this exchange" : "\(type(of: failure))"
            (response, error, description, isDrop) = (nil, text, text, false)
        }
        // The redirects are exchanges as well.
        if response?.history.isEmpty == false { response?.history = [] }
        // The request is kept with its exchange.
        if response?.request.body != nil { response?.request.body = nil }
    }

    /// Removes the body of the response, if it is longer than `limit`.
    mutating func trim(to limit: Int) {
        guard let count = response?.body.count, count > limit else { return }
        removedLength = count
        response?.body = Data()
    }
}
