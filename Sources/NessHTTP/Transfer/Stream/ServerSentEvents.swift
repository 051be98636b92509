import Foundation

/// An event that a server sent (WHATWG HTML, 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// Its type: `message` unless the server named one.
    public var event: String
    /// Its data; several lines are joined by line feeds.
    public var data: String
    /// The last identifier that the server sent, with this event or before it; nil if it never sent one.
    public var id: String?

    /// Makes an event.
    /// - Parameters:
    ///   - event: Its type.
    ///   - data: Its data.
    ///   - id: The last identifier.
    public init(event: String = "message", data: String, id: String? = nil) {
        self.event = event
        self.data = data
        self.id = id
    }
}

/// The events of a streamed body, as they come. It can be read once; leaving the loop ends the request.
///
/// An event whose data is longer than 16 MiB ends the iteration with `NessError.responseTooLarge`.
public struct ServerSentEvents: AsyncSequence, Sendable {
    private let chunks: ResponseChunks
    private let parser: EventParser

    init(_ chunks: ResponseChunks, _ parser: EventParser = EventParser()) {
        self.chunks = chunks
        self.parser = parser
    }

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(lines: ResponseLines(chunks).makeAsyncIterator(), parser: parser) }

    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var lines: ResponseLines.Iterator
        /// What the server has said so far.
        fileprivate(set) var parser: EventParser

        /// The next event; nil at the end. An event that the end cuts short is none.
        public mutating func next() async throws -> ServerSentEvent? {
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
}

/// Refuses a response that is not a stream of events (WHATWG HTML, 9.2.3).
struct EventStreamValidator: ResponseValidator {
    /// True if a 204 passes, by which the server says that no events follow.
    var allowsNoContent = false

    func validate(for response: HTTPResponse) -> ResponseValidatorResult {
        if allowsNoContent, response.statusCode == 204 { return .valid }
        let type = response.headers.mediaType
        if response.statusCode == 200, type == "text/event-stream" { return .valid }
        return .invalidWithReason("not a stream of events: the status is \(response.statusCode), the type is \(type ?? "not given")")
    }
}

/// Puts events together, line by line.
package struct EventParser: Sendable {
    /// The longest data of an event, in bytes: a server that never ends one must not fill the memory.
    package static let maximumLength = 16 << 20

    private var event = ""
    /// The lines so far, each with its end. It grows in place: an event of many lines costs what its bytes cost.
    private var data = ""
    private var pendingID: String?
    private var isFirstLine = true
    /// The last identifier; nil if there was none.
    package var lastEventID: String?
    /// How long to wait before connecting again, if the server said so.
    package var retry: Duration?

    package init() {}

    /// Takes a line, and gives the event that it ends.
    /// - Throws: `StreamPartTooLong`.
    package mutating func take(_ text: String) throws -> ServerSentEvent? {
        var line = Substring(text)
        if isFirstLine {
            isFirstLine = false
            if line.unicodeScalars.first == "\u{FEFF}" { line = Substring(line.unicodeScalars.dropFirst()) }
        }
        if line.isEmpty { return dispatch() }
        let name = line.unicodeScalars.prefix { $0 != ":" }
        // A comment.
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
        // A control character could not go back in a header field.
        case "id": if !value.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) { pendingID = value }
        case "retry":
            guard !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) }), let milliseconds = Int64(value) else { return }
            retry = .milliseconds(milliseconds)
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

    /// A connection has ended: what was not whole is forgotten, what the server said of itself stays.
    package mutating func beginAgain() {
        (event, data, pendingID, isFirstLine) = ("", "", nil, true)
    }
}
