import Foundation

/// A server-sent event (WHATWG HTML, 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The event's type: `message` unless the server named one.
    public var event: String
    /// The event's data. Several lines are joined by line feeds.
    public var data: String
    /// The last identifier that the server sent, with this event or an earlier one. `nil` if it never sent one.
    public var id: String?

    /// Makes an event.
    /// - Parameters:
    ///   - event: The event's type.
    ///   - data: The event's data.
    ///   - id: The last identifier.
    public init(event: String = "message", data: String, id: String? = nil) {
        self.event = event
        self.data = data
        self.id = id
    }
}

/// Reads the events of a streamed body, as they arrive.
struct ServerSentEvents {
    private var lines: ResponseLines
    /// The parser, which holds the last identifier and the reconnection time that the server sent.
    private(set) var parser: EventParser

    init(_ chunks: ResponseChunks, _ parser: EventParser = EventParser()) {
        lines = ResponseLines(chunks)
        self.parser = parser
    }

    /// Returns the next event. `nil` at the end. An event without its final empty line is dropped.
    mutating func next() async throws -> ServerSentEvent? {
        while let line = try await lines.next() {
            do {
                if let event = try parser.take(line) { return event }
            } catch let error as StreamPartTooLong {
                throw lines.failure(error)
            }
        }
        return nil
    }
}

/// Rejects a response that is not an event stream (WHATWG HTML, 9.2.3).
struct EventStreamValidator: ResponseValidator {
    /// True if a 204 is accepted, with which a server announces that no more events follow.
    var allowsNoContent = false

    func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        if allowsNoContent, response.statusCode == 204 { return .valid }
        let type = response.headers.mediaType
        if response.statusCode == 200, type == "text/event-stream" { return .valid }
        return .invalidWithReason("not an event stream: status \(response.statusCode), Content-Type \(type ?? "none")")
    }
}

/// Puts events together, line by line.
package struct EventParser: Sendable {
    /// The longest data of an event, in bytes: a server that never ends one must not fill the memory.
    package static let maximumLength = 16 << 20

    private var event = ""
    /// The data lines so far, each with its line end. The text grows in place, so that many lines cost linear time.
    private var data = ""
    private var pendingID: String?
    /// The last identifier. `nil` if the server sent none.
    package var lastEventID: String?
    /// The reconnection time. `nil` if the server sent none.
    package var retry: Duration?

    package init() {}

    /// Parses a line, and returns the event that the line completes.
    /// - Throws: `StreamPartTooLong`.
    package mutating func take(_ text: String) throws -> ServerSentEvent? {
        let line = Substring(text)
        if line.isEmpty { return dispatch() }
        let name = line.unicodeScalars.prefix { $0 != ":" }
        // A comment line.
        if name.isEmpty { return nil }
        var value = line.unicodeScalars.dropFirst(name.count).dropFirst()
        if value.first == " " { value = value.dropFirst() }
        try set(String(Substring(name)), String(Substring(value)))
        return nil
    }

    private mutating func set(_ name: String, _ value: String) throws {
        switch name {
        case "event": event = value
        case "data":
            guard value.utf8.count <= Self.maximumLength - data.utf8.count else {
                throw StreamPartTooLong("an event", limit: Self.maximumLength)
            }
            data += value
            data += "\n"
        // An identifier with a control character could not be sent back in a header field.
        case "id": if !value.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) { pendingID = value }
        case "retry":
            if value.utf8.allSatisfy(\.isDigit), let milliseconds = Int64(value) { retry = .milliseconds(milliseconds) }
        default: break
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        if let pendingID { lastEventID = pendingID }
        defer { (event, data) = ("", "") }
        guard !data.isEmpty else { return nil }
        data.unicodeScalars.removeLast()
        return ServerSentEvent(event: event.isEmpty ? "message" : event, data: data, id: lastEventID)
    }

    /// Prepares for a new connection: drops an incomplete event, keeps the last identifier and the reconnection time.
    package mutating func beginAgain() {
        (event, data, pendingID) = ("", "", nil)
    }
}
