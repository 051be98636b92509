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
        case head(exchange: Int)
        case end(exchange: Int, Result<HTTPResponse, any Error>)
        case receive
        case retry(FailedAttempt, delay: Duration)
        case pause
        case resume
        case outcome(RequestMetrics)
    }

    /// The largest number of events, apart from the outcome: a request may be retried for days.
    static let eventLimit = 2_000

    /// The number on the page, counted from 1 in the order of the starts.
    let number: Int
    /// The request as the caller made it.
    let request: HTTPRequest
    /// The time from the inspector's start to the request's start.
    let start: Duration
    /// The events, each with the time since the inspector's start.
    private(set) var events: [(event: Event, time: Duration)] = []
    /// The time of the request's end; `nil` while it runs.
    private(set) var end: Duration?
    /// The number of bytes of bodies in the events.
    private(set) var bytes: Int
    /// The sizes of the bodies that were too long to keep, by exchange; the final response's under 0.
    private(set) var omitted: [Int: Int] = [:]
    /// The number of the inspector's change that changed this record last.
    private(set) var change: Int

    init(number: Int, request: HTTPRequest, start: Duration, change: Int) {
        (self.number, self.request, self.start, self.change) = (number, request, start, change)
        bytes = request.body?.data?.count ?? 0
    }

    /// Adds an event.
    /// - Parameters:
    ///   - event: The event.
    ///   - time: The time since the inspector's start.
    ///   - change: The number of the inspector's change.
    ///   - bodyLimit: The number of bytes up to which the body of a response is kept.
    /// - Returns: The number of bytes of bodies that were added.
    mutating func add(_ event: Event, at time: Duration, change: Int, bodyLimit: Int) -> Int {
        self.change = change
        switch event {
        case .end(let exchange, .success(var response)):
            let added = trim(&response, of: exchange, to: bodyLimit)
            append(.end(exchange: exchange, .success(response)), at: time)
            return added
        case .outcome(var metrics):
            guard case .success(var response) = metrics.outcome else {
                events.append((event, time))
                return 0
            }
            let added = trim(&response, of: 0, to: bodyLimit)
            metrics.outcome = .success(response)
            events.append((.outcome(metrics), time))
            return added
        case .retry(var attempt, let delay):
            // The exchange has the body.
            attempt.response?.body = Data()
            append(.retry(attempt, delay: delay), at: time)
        default:
            append(event, at: time)
        }
        return 0
    }

    /// Ends the record.
    mutating func finish(at time: Duration, change: Int) { (end, self.change) = (time, change) }

    private mutating func append(_ event: Event, at time: Duration) {
        if events.count < Self.eventLimit { events.append((event, time)) }
    }

    /// Removes a body that is too long.
    /// - Returns: The number of bytes that are kept.
    private mutating func trim(_ response: inout HTTPResponse, of exchange: Int, to limit: Int) -> Int {
        guard response.body.count > limit else {
            bytes += response.body.count
            return response.body.count
        }
        omitted[exchange] = response.body.count
        response.body = Data()
        return 0
    }
}
