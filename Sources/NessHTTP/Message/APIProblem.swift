import Foundation

/// What went wrong, in an API's own words: the problem details of RFC 9457, as `application/problem+json` or plain JSON.
///
/// Any JSON object is one: what is missing is nil, members of its own are in `extensions`, and a member of another type than the standard
/// wants counts as missing (RFC 9457, 3.1).
public struct APIProblem: Error, Sendable, Hashable {
    /// What kind of problem it is: a URI reference, to be compared; `about:blank` where the status says it all.
    public var type: String
    /// The kind of problem in a few words.
    public var title: String?
    /// The status code, as the server that made it sent it.
    public var status: Int?
    /// What was the matter this time, for a person.
    public var detail: String?
    /// This occurrence of the problem: a URI reference.
    public var instance: String?
    /// All other members, by name.
    public var extensions: [String: JSONValue]

    /// Makes a problem: for a mock, say.
    /// - Parameters:
    ///   - type: What kind of problem it is: a URI reference.
    ///   - title: The kind of problem in a few words.
    ///   - status: The status code.
    ///   - detail: What was the matter this time.
    ///   - instance: This occurrence: a URI reference.
    ///   - extensions: All other members.
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
    /// - Parameter decoder: The decoder. Names are taken as they are, whatever its strategy for keys.
    /// - Throws: `DecodingError` for what is no JSON object.
    public init(from decoder: any Decoder) throws {
        self.init(members: try decoder.singleValueContainer().decode([String: JSONValue].self))
    }

    /// Writes a problem, without what is nil. An extension that has the name of a standard member is left out where that is set.
    /// - Parameter encoder: The encoder.
    /// - Throws: What the encoder throws.
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

extension APIProblem: CustomStringConvertible, CustomReflectable, LocalizedError {
    /// Kind, status, title and detail in one line. Extensions are not shown: what is in them may be secret.
    public var description: String {
        let words = [title, detail].compactMap { $0 }.joined(separator: ": ")
        return SecretNames().redacted(text: "\(type)\(status.map { " (\($0))" } ?? "")\(words.isEmpty ? "" : ": " + words)").oneLine
    }
    /// Only the description.
    public var customMirror: Mirror { Mirror(self, children: ["problem": description]) }
    /// What is best shown to a person: the detail, or else the title.
    public var errorDescription: String? { detail ?? title ?? description }
}
