import Foundation
import NessHTTP

/// The routes of a mock, the newest first.
struct RouteTable: Sendable {
    /// The source of a route's replies.
    enum Answer: Sendable {
        case handler(MockTransport.Handler)
        case replies([Reply], next: Int, repeatsLast: Bool)
        case transport(any Transport)
    }

    /// The handler that makes the reply to one request, or the transport that sends the request.
    enum Chosen: Sendable {
        case transport(any Transport)
        case handler(MockTransport.Handler)
    }

    private struct Entry: Sendable {
        let id: Int
        /// The method; `nil` for any.
        let method: HTTPMethod?
        let text: String
        let pattern: Result<RoutePattern, any Error>
        var answer: Answer

        var isUsedUp: Bool {
            guard case .replies(let replies, let next, false) = answer else { return false }
            return next >= replies.count
        }

        /// The method and the pattern.
        var name: String { "\(method?.rawValue ?? "ANY") \(text)" }

        func canAnswer(_ method: HTTPMethod) -> Bool { (self.method == nil || self.method == method) && !isUsedUp }

        /// Returns the reasons why the route does not match; `nil` if its path has nothing in common with the request's.
        func differences(from target: RouteTarget, hiding redactor: Redactor) -> [RouteDifference]? {
            guard let pattern = try? pattern.get() else { return nil }
            guard var differences = pattern.differences(from: target, hiding: redactor) else { return nil }
            if let method, method != target.method {
                let reason = "the method is \(target.method.rawValue.oneLine), not \(method.rawValue.oneLine)"
                differences.insert(RouteDifference(cost: 2, reason: reason), at: 0)
            }
            if isUsedUp { differences.append(RouteDifference(cost: 1, reason: "its replies are used up")) }
            return differences
        }
    }

    private var entries: [Entry] = []
    private var lastID = 0

    /// The transports of the routes.
    var transports: [any Transport] {
        entries.compactMap { entry in
            if case .transport(let transport) = entry.answer { transport } else { nil }
        }
    }

    /// Adds a route. It takes precedence over the routes that were added before.
    /// - Returns: The identifier for `remove(_:)`.
    mutating func add(_ method: HTTPMethod?, _ text: String, _ answer: Result<Answer, any Error>) -> Int {
        lastID += 1
        let pattern = Result {
            if case .replies(let replies, _, _) = try answer.get(), replies.isEmpty {
                throw MockTransportError.invalidRoute("\(Redactor().redacted(urlText: text)): it has no replies")
            }
            return try RoutePattern(text)
        }
        let answer = (try? answer.get()) ?? .replies([], next: 0, repeatsLast: false)
        entries.insert(Entry(id: lastID, method: method, text: text, pattern: pattern, answer: answer), at: 0)
        return lastID
    }

    /// Removes a route, if it exists.
    /// - Returns: The removed route. The caller has to release it outside its lock.
    mutating func remove(_ id: Int) -> (any Sendable)? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        return entries.remove(at: index)
    }

    /// Removes every route.
    /// - Returns: The removed routes. The caller has to release them outside its lock.
    mutating func removeAll() -> any Sendable {
        let removed = entries
        entries = []
        return removed
    }

    /// Finds the route for a request, and its reply.
    /// - Returns: The reply and the path parameters; `nil` if no route matches.
    /// - Throws: `MockTransportError.invalidRoute` if any route is invalid.
    mutating func choose(_ target: RouteTarget) throws -> (Chosen, pathParameters: [String: String])? {
        var found: (index: Int, parameters: [String: String])?
        for (index, entry) in entries.enumerated() {
            let pattern = try entry.pattern.get()
            if found == nil, entry.canAnswer(target.method), let parameters = pattern.match(target) { found = (index, parameters) }
        }
        guard let (index, parameters) = found else { return nil }
        switch entries[index].answer {
        case .handler(let handler): return (.handler(handler), parameters)
        case .transport(let transport): return (.transport(transport), parameters)
        case .replies(let replies, let next, let repeatsLast):
            entries[index].answer = .replies(replies, next: min(next + 1, replies.count), repeatsLast: repeatsLast)
            let reply = replies[min(next, replies.count - 1)]
            return (.handler { _ in reply }, parameters)
        }
    }

    /// Returns the error of a request that no route matches.
    func unmatched(_ request: HTTPRequest, _ target: RouteTarget) -> UnmatchedRequest {
        let redactor = request.redactor
        func shown(_ entry: Entry) -> String { redactor.redacted(urlText: entry.name) }
        func listed(_ entry: Entry) -> String { shown(entry) + (entry.isUsedUp ? " (used up)" : "") }
        let ranked = entries.compactMap { entry -> (entry: Entry, differences: [RouteDifference], cost: Int)? in
            guard let differences = entry.differences(from: target, hiding: redactor) else { return nil }
            return (entry, differences, differences.reduce(0) { $0 + $1.cost })
        }.sorted { ($0.cost, -$0.entry.id) < ($1.cost, -$1.entry.id) }
        // A route that is much further away than the nearest one explains nothing.
        let nearest = ranked.prefix(3).filter { $0.cost <= (ranked.first?.cost ?? 0) + 2 }
        let nearestIDs = Set(nearest.map(\.entry.id))
        return UnmatchedRequest(
            request: request, routes: entries.map(listed),
            nearest: nearest.map { "\(shown($0.entry)) (\($0.differences.map(\.reason).joined(separator: "; ")))" },
            others: entries.filter { !nearestIDs.contains($0.id) }.map(listed))
    }
}
