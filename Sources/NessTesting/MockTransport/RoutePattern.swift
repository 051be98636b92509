import Foundation
import NessHTTP

/// The pattern of a mock's route: see `MockTransport.on(_:_:_:)`.
struct RoutePattern: Sendable {
    /// One segment of a pattern's path.
    enum Piece: Sendable {
        case literal(String)
        case one(String)
        /// All remaining segments. It is always the last piece.
        case rest(String?)
    }

    private var scheme: String?
    private var host: String?
    private var port: String?
    /// True if the path is below the manager's base URL: it has neither a host nor a leading slash.
    let isRelative: Bool
    /// The segments of the path, percent-decoded each on its own: an encoded slash separates no segments.
    let pieces: [Piece]
    /// The pairs that a request's query must contain.
    let query: [ReceivedRequest.Item]

    /// Parses a pattern.
    /// - Throws: `MockTransportError.invalidRoute` if the pattern is invalid.
    init(_ text: String) throws {
        func invalid(_ reason: String) -> MockTransportError {
            .invalidRoute("\(Redactor().redacted(urlText: text)): \(reason)")
        }
        var rest = text.prefix { $0 != "#" }
        query = rest.firstIndex(of: "?").map { Self.items(of: rest[rest.index(after: $0)...]) } ?? []
        rest = rest.prefix { $0 != "?" }
        if let mark = rest.range(of: "://"), !rest[..<mark.lowerBound].contains("/") {
            let scheme = rest[..<mark.lowerBound].lowercased()
            guard scheme == "http" || scheme == "https" else { throw invalid("the scheme is neither http nor https") }
            self.scheme = scheme
            rest = rest[rest.index(after: mark.lowerBound)...]
        }
        if rest.hasPrefix("//") {
            let authority = rest.dropFirst(2).prefix { $0 != "/" }
            rest = rest[authority.endIndex...]
            guard !authority.contains("@") else { throw invalid("user and password can't be matched") }
            (host, port) = Self.split(authority)
            guard host?.isEmpty == false else { throw invalid("there is no host") }
            if let port, !port.isEmpty, UInt16(port) == nil { throw invalid("the port is not a number up to 65535") }
        }
        isRelative = host == nil && !rest.hasPrefix("/")
        let segments = rest.split(separator: "/")
        guard !segments.contains(where: { $0 == "." || $0 == ".." }) else {
            throw invalid("requests are sent without \".\" and \"..\", so it never matches")
        }
        var names: Set<String> = []
        pieces = try segments.enumerated().map { index, segment in
            let name = String(segment.dropFirst())
            switch segment.first {
            case ":" where !name.isEmpty:
                guard names.insert(name).inserted else { throw invalid("\"\(name)\" occurs twice") }
                return .one(name)
            case "*":
                guard index == segments.count - 1 else { throw invalid("nothing can follow \"\(segment)\"") }
                guard names.insert(name).inserted else { throw invalid("\"\(name)\" occurs twice") }
                return .rest(name.isEmpty ? nil : name)
            default: return .literal(PercentEncoding.decode(segment))
            }
        }
    }

    /// Returns the text that each placeholder matches in a request's URL; `nil` if the pattern does not match.
    func match(_ target: RouteTarget) -> [String: String]? {
        guard isForOrigin(of: target), query.allSatisfy(target.items.contains) else { return nil }
        guard let segments = isRelative ? target.segmentsBelowBase : target.segments[...] else { return nil }
        return match(segments)
    }

    /// Returns the text that each placeholder matches in segments of a path; `nil` if they do not match.
    func match(_ segments: ArraySlice<String>) -> [String: String]? {
        var left = segments
        var parameters: [String: String] = [:]
        for piece in pieces {
            switch piece {
            case .literal(let expected): guard left.popFirst() == expected else { return nil }
            case .one(let name):
                guard let segment = left.popFirst() else { return nil }
                parameters[name] = segment
            case .rest(let name):
                if let name { parameters[name] = left.joined(separator: "/") }
                left = []
            }
        }
        return left.isEmpty ? parameters : nil
    }

    /// Returns true if the pattern has no host, or the scheme, host and port of a request.
    func isForOrigin(of target: RouteTarget) -> Bool {
        if let scheme, scheme != target.scheme { return false }
        guard let host else { return true }
        let defaultPort = target.scheme == "https" ? 443 : 80
        return host.equalsIgnoringCase(target.host) && (port.flatMap { Int($0) } ?? defaultPort) == target.port
    }

    /// Splits an authority into host and port. The host may be an IPv6 address in brackets.
    private static func split(_ authority: Substring) -> (String, String?) {
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") else { return (String(authority), nil) }
        return (String(authority[..<colon]), String(authority[authority.index(after: colon)...]))
    }

    /// Returns the pairs of a query.
    static func items(of query: Substring) -> [ReceivedRequest.Item] {
        ReceivedRequest(method: .get, target: "/?\(query)").queryItems
    }
}
