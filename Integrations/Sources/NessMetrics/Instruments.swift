import Foundation
import Metrics
import NessConventions
import NessHTTP

/// The server and the kind of request that all instruments of a request have in common.
struct Target: Hashable, Sendable {
    let method: String
    let address: String?
    let port: Int?
    let route: String?

    var dimensions: [(String, String)] {
        let all: [(String, String?)] = [
            ("http.request.method", method), ("server.address", address), ("server.port", port.map(String.init)),
            ("url.template", route),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}

/// The values that tell the outcomes of a target apart.
struct Outcome: Hashable, Sendable {
    var status: Int?
    var error: String?
    var version: String?
    var source: String?

    init(_ outcome: Result<HTTPResponse, any Error>) {
        status = Conventions.response(of: outcome)?.statusCode
        error = Conventions.errorType(of: outcome)
    }

    var dimensions: [(String, String)] {
        let all: [(String, String?)] = [
            ("http.response.status_code", status.map(String.init)), ("error.type", error), ("network.protocol.version", version),
            ("ness.source", source),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}

/// The instruments of a target. Each is made once: a factory may take long to make one.
final class Instruments: Sendable {
    private struct Made: Sendable {
        var exchanges: [Outcome: Metrics.Timer] = [:]
        var requests: [Outcome: Metrics.Timer] = [:]
        var waits: [WaitingPlace: (duration: Metrics.Timer, waiting: Meter)] = [:]
        var retries: [String?: Counter] = [:]
    }

    private let dimensions: [(String, String)]
    private let factory: any MetricsFactory
    private let made = Locked(Made())
    let active: Meter
    let joined: Counter
    let connections: Counter
    let refreshes: Counter
    let attempts: Counter
    let sent: Recorder
    let received: Recorder

    init(of target: Target, by factory: any MetricsFactory) {
        let dimensions = target.dimensions
        (self.dimensions, self.factory) = (dimensions, factory)
        active = Meter(label: "http.client.active_requests", dimensions: dimensions, factory: factory)
        joined = Counter(label: "ness.joined", dimensions: dimensions, factory: factory)
        connections = Counter(label: "ness.connections", dimensions: dimensions, factory: factory)
        refreshes = Counter(label: "ness.refreshes", dimensions: dimensions, factory: factory)
        attempts = Counter(label: "ness.attempts", dimensions: dimensions, factory: factory)
        sent = Recorder(label: "http.client.request.body.size", dimensions: dimensions, aggregate: true, factory: factory)
        received = Recorder(label: "http.client.response.body.size", dimensions: dimensions, aggregate: true, factory: factory)
    }

    private func timer(_ label: String, _ more: [(String, String)]) -> Metrics.Timer {
        Metrics.Timer(label: label, dimensions: dimensions + more, factory: factory)
    }

    private func made<Key: Hashable, Instrument>(
        _ list: WritableKeyPath<Made, [Key: Instrument]>, _ key: Key, _ make: () -> Instrument
    ) -> Instrument {
        made.withLock { made in
            if let known = made[keyPath: list][key] { return known }
            let new = make()
            made[keyPath: list][key] = new
            return new
        }
    }

    /// The durations of exchanges with an outcome.
    func exchanges(_ outcome: Outcome) -> Metrics.Timer {
        made(\.exchanges, outcome) { timer("http.client.request.duration", outcome.dimensions) }
    }

    /// The durations of requests with an outcome.
    func requests(_ outcome: Outcome) -> Metrics.Timer {
        made(\.requests, outcome) { timer("ness.request.duration", outcome.dimensions) }
    }

    /// The durations of the waits at a place, and the number of requests that wait there.
    func waits(at place: WaitingPlace) -> (duration: Metrics.Timer, waiting: Meter) {
        made(\.waits, place) {
            let more = [("ness.place", place.rawValue)]
            return (timer("ness.wait.duration", more), Meter(label: "ness.waiting", dimensions: dimensions + more, factory: factory))
        }
    }

    /// The number of retries after an error.
    func retries(after error: String?) -> Counter {
        made(\.retries, error) {
            Counter(label: "ness.retries", dimensions: dimensions + (error.map { [("error.type", $0)] } ?? []), factory: factory)
        }
    }
}
