import Foundation
import NessHTTP

/// The routes of a mock, the newest first.
struct RouteTable: Sendable {
    /// The source of a route's replies.
    enum Answer: Sendable {
        case handler(MockTransport.Handler)
        case replies([Reply], next: Int, repeatsLast: Bool)
    }

    /// A route's reply to one request, or the handler that makes it.
    enum Chosen: Sendable {
        case handler(MockTransport.Handler)
        case reply(Reply)
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

        func canAnswer(_ method: HTTPMethod) -> Bool { (self.method == nil || self.method == method) && !isUsedUp }
    }

    private var entries: [Entry] = []
    private var lastID = 0

    /// Every route's method and pattern, the newest route first.
    var names: [String] { entries.map { "\($0.method?.rawValue ?? "ANY") \($0.text)\($0.isUsedUp ? " (used up)" : "")" } }

    /// Adds a route. It takes precedence over the routes that were added before.
    /// - Returns: The identifier for `remove(_:)`.
    mutating func add(_ method: HTTPMethod?, _ text: String, _ answer: Answer) -> Int {
        lastID += 1
        let pattern = Result {
            if case .replies(let replies, _, _) = answer, replies.isEmpty {
                throw MockTransportError.invalidRoute("\(SecretNames().redacted(urlText: text)): it has no replies")
            }
            return try RoutePattern(text)
        }
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
    mutating func choose(_ method: HTTPMethod, _ url: URL) throws -> (Chosen, pathParameters: [String: String])? {
        var found: (index: Int, parameters: [String: String])?
        for (index, entry) in entries.enumerated() {
            let pattern = try entry.pattern.get()
            if found == nil, entry.canAnswer(method), let parameters = pattern.match(url) { found = (index, parameters) }
        }
        guard let (index, parameters) = found else { return nil }
        switch entries[index].answer {
        case .handler(let handler): return (.handler(handler), parameters)
        case .replies(let replies, let next, let repeatsLast):
            entries[index].answer = .replies(replies, next: min(next + 1, replies.count), repeatsLast: repeatsLast)
            return (.reply(replies[min(next, replies.count - 1)]), parameters)
        }
    }
}
