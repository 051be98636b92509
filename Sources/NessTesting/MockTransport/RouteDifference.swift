import NessHTTP

/// One reason why a route does not match a request.
struct RouteDifference: Sendable {
    /// The weight of the reason. A route with a low sum is probably the one that the test means.
    let cost: Int
    /// The reason, in one line, without secrets.
    let reason: String

    /// The cost of a segment that has no counterpart.
    static let segmentCost = 3
}

extension RoutePattern {
    /// Returns the reasons why the pattern does not match a request's URL.
    /// - Parameters:
    ///   - target: The request.
    ///   - redactor: The redactor of the request, whose secrets no reason shows.
    /// - Returns: The reasons; `nil` if the path has nothing in common with the pattern.
    func differences(from target: RouteTarget, hiding redactor: Redactor) -> [RouteDifference]? {
        var differences: [RouteDifference] = []
        if !isForOrigin(of: target) { differences.append(RouteDifference(cost: 4, reason: "the origin differs")) }
        if isRelative, target.segmentsBelowBase == nil, let base = target.baseURL {
            differences.append(RouteDifference(cost: 2, reason: "the URL is outside the base URL \(redactor.redacted(base))"))
        }
        let segments = (isRelative ? target.segmentsBelowBase : nil) ?? target.segments[...]
        if match(segments) == nil {
            if !isRelative, let below = target.segmentsBelowBase, match(below) != nil {
                differences.append(
                    RouteDifference(
                        cost: 1, reason: "a leading slash means the root of the host; without it the route is below the base URL"))
            } else if let difference = pathDifference(from: Array(segments), hiding: redactor) {
                differences.append(difference)
            } else {
                return nil
            }
        }
        for item in query where !target.items.contains(item) {
            let pair = redactor.redacted(urlText: "?\(item.name)=\(item.value)").dropFirst()
            differences.append(RouteDifference(cost: 1, reason: "the query has no \(pair)"))
        }
        return differences
    }

    private func pathDifference(from segments: [String], hiding redactor: Redactor) -> RouteDifference? {
        var fixed = pieces[...]
        var hasRest = false
        if case .rest = fixed.last {
            hasRest = true
            fixed.removeLast()
        }
        let row = EditDistance.row(from: fixed, to: segments[...], gap: RouteDifference.segmentCost) { piece, segment in
            guard case .literal(let expected) = piece, expected != segment else { return 0 }
            return EditDistance.areAlike(expected, segment) ? 1 : RouteDifference.segmentCost
        }
        // The last piece takes the segments that are left.
        guard let cost = hasRest ? row.min() : row.last else { return nil }
        let count = hasRest ? fixed.count : max(fixed.count, segments.count)
        guard count == 0 || cost < RouteDifference.segmentCost * count else { return nil }
        guard fixed.count == segments.count || (hasRest && fixed.count < segments.count) else {
            let place = isRelative ? "the path below the base URL" : "the path"
            let count = segments.count == 1 ? "1 segment" : "\(segments.count) segments"
            return RouteDifference(cost: cost, reason: "\(place) has \(count), not \(hasRest ? "at least " : "")\(fixed.count)")
        }
        let reasons = zip(fixed, segments).compactMap { piece, segment -> String? in
            guard case .literal(let expected) = piece, expected != segment else { return nil }
            return "\"\(Self.shown(segment, redactor))\" is not \"\(Self.shown(expected, redactor))\""
        }
        return RouteDifference(cost: cost, reason: reasons.joined(separator: " and "))
    }

    private static func shown(_ segment: String, _ redactor: Redactor) -> String {
        let text = redactor.redacted(urlText: segment)
        return text.count > 60 ? "\(text.prefix(60))…" : text
    }
}
