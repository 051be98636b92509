import Foundation

/// An API's own error: the problem details of RFC 9457, as `application/problem+json` or as plain JSON.
///
/// Any JSON object can be read as a problem. A missing member is `nil`, and so is a member of the wrong type (RFC 9457, section 3.1).
/// Members that the RFC does not define are in `extensions`.
public struct APIProblem: Error, Sendable, Hashable {
    /// The kind of the problem, as a URI reference, for comparison. `about:blank` means that the status code says everything.
    public var type: String
    /// The kind of the problem, in a few words.
    public var title: String?
    /// The status code that the origin server generated. A proxy may have changed the status of the response.
    public var status: Int?
    /// A description of this occurrence, for a person.
    public var detail: String?
    /// The identifier of this occurrence, as a URI reference.
    public var instance: String?
    /// All other members, by name.
    public var extensions: [String: JSONValue]

    /// Makes a problem, for example for a mock.
    /// - Parameters:
    ///   - type: The kind of the problem, as a URI reference.
    ///   - title: The kind of the problem, in a few words.
    ///   - status: The status code.
    ///   - detail: A description of this occurrence.
    ///   - instance: The identifier of this occurrence, as a URI reference.
    ///   - extensions: All other members, by name.
    public init(
        type: String = "about:blank", title: String? = nil, status: Int? = nil, detail: String? = nil, instance: String? = nil,
        extensions: [String: JSONValue] = [:]
    ) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.instance = instance
        self.extensions = extensions
    }
}

extension APIProblem: JSONValueReadable {
    init(_ value: JSONValue) throws {
        guard case .object(let members) = value else {
            throw DecodingError.typeMismatch(
                APIProblem.self, DecodingError.Context(codingPath: [], debugDescription: "A problem is a JSON object."))
        }
        self.init(members: members)
    }

    private init(members: [String: JSONValue]) {
        var members = members
        type = members.removeValue(forKey: "type")?.stringValue ?? "about:blank"
        title = members.removeValue(forKey: "title")?.stringValue
        status = members.removeValue(forKey: "status")?.intValue
        detail = members.removeValue(forKey: "detail")?.stringValue
        instance = members.removeValue(forKey: "instance")?.stringValue
        extensions = members
    }
}

extension APIProblem: Codable {
    /// Reads a problem.
    /// - Parameter decoder: The decoder. Its key strategy does not affect the names.
    /// - Throws: `DecodingError` if the value is not a JSON object.
    public init(from decoder: any Decoder) throws {
        self.init(members: try decoder.singleValueContainer().decode([String: JSONValue].self))
    }

    /// Writes a problem. Members that are `nil` are left out. A standard member takes precedence over an extension of the same name.
    /// - Parameter encoder: The encoder.
    /// - Throws: The encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var members = extensions
        members["type"] = .string(type)
        for (name, value) in [("title", title), ("detail", detail), ("instance", instance)] {
            if let value { members[name] = .string(value) }
        }
        if let status { members["status"] = JSONValue(status) }
        var container = encoder.singleValueContainer()
        try container.encode(members)
    }
}

extension APIProblem: RedactedValue, LocalizedError {
    /// Kind, status, title and detail in one line. Extensions are left out, because they may be secret.
    package var redactedDescription: String {
        let redactor = Redactor()
        let kind = redactor.redacted(urlText: type) + (status.map { " (\($0))" } ?? "")
        return ([kind] + [title, detail].compactMap { $0 }.map { redactor.redacted(text: $0).oneLine }).joined(separator: ": ")
    }
    /// The message for a person: the detail, else the title, else the description.
    public var errorDescription: String? { detail ?? title ?? description }
}
