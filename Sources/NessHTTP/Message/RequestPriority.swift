/// The urgency of a request: see `RequestBuilder.set(priority:)`.
public enum RequestPriority: Sendable, Hashable, CaseIterable {
    /// Less urgent than others: a file that is fetched ahead of time.
    case low
    /// The initial priority.
    case normal
    /// More urgent than others: what the user waits for.
    case high

    /// The value of the header field `Priority` (RFC 9218, section 4); `nil` for its default.
    var fieldValue: String? {
        switch self {
        case .low: "u=5"
        case .normal: nil
        case .high: "u=1"
        }
    }

    /// Reads the priority from a request's header field. Any other value counts as normal.
    init(of request: HTTPRequest) {
        let value = request.headers[HeaderName.priority]
        self = Self.allCases.first { $0.fieldValue == value } ?? .normal
    }

    /// The priority of a `URLSessionTask`.
    var taskPriority: Float {
        switch self {
        case .low: 0.25
        case .normal: 0.5
        case .high: 0.75
        }
    }
}
