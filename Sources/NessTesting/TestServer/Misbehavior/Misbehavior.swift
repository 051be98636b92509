/// A named fault of a server, with the outcome that a correct client reports.
///
/// ```swift
/// for misbehavior in Misbehavior.all where !misbehavior.onlyOutOfProcess {
///     let server = try await TestServer.start(misbehavior)
///     // … send misbehavior.requestCount GET requests, one after another, to
///     // server.url, and compare the last outcome with misbehavior.expectation …
///     await server.stop()
/// }
/// ```
/// Every entry is meant for GET requests to any path. No entry depends on time: a slow server stalls forever.
public struct Misbehavior: Sendable, CustomStringConvertible {
    /// The outcome that a correct client reports for the last request.
    public enum Expectation: Sendable, Hashable {
        /// Exactly this response, with this decoded body.
        case success(status: Int, body: String)
        /// Either exactly this response or any error, but never another response.
        case successOrFailure(status: Int, body: String)
        /// An error that reports a lost connection.
        case connectionLost
        /// An error that reports an incomplete body; never a success with a part of the body.
        case truncated
        /// An error that reports a malformed response.
        case malformedResponse
        /// An error of a client that limits the size of responses. A client without a limit never ends, or exhausts the memory.
        case tooLarge
        /// A timeout of the client, reported as such. The server sends no further bytes, so only a timer ends the request.
        case timesOut
        /// Any error.
        case anyFailure
    }

    /// The name, in kebab-case, unique in the catalog.
    public let name: String
    /// A description of the server's behavior, in one line.
    public let summary: String
    /// The outcome that a correct client reports for the last request.
    public let expectation: Expectation
    /// The number of requests that the client has to send, each after the response to the previous one.
    public let requestCount: Int
    /// True if this fault ends the process of URLSession on Linux, or makes it hang (with Swift 6.3 and libcurl 7.88). Run such a client in
    /// another process.
    public let onlyOutOfProcess: Bool
    /// Returns the steps for a connection. For use as a script: `TestServer.start(script: misbehavior.steps)`.
    public let steps: @Sendable (ConnectionInfo) -> [ConnectionStep]

    /// Makes a misbehavior.
    /// - Parameters:
    ///   - name: The name, in kebab-case.
    ///   - summary: A description of the server's behavior, in one line.
    ///   - expectation: The outcome that a correct client reports for the last request.
    ///   - requestCount: The number of requests that the client has to send, one after another.
    ///   - onlyOutOfProcess: True if this fault ends the process of URLSession on Linux, or makes it hang.
    ///   - steps: Returns the steps for a connection. Runs on the connection's thread.
    public init(
        _ name: String, _ summary: String, expecting expectation: Expectation, requestCount: Int = 1, onlyOutOfProcess: Bool = false,
        steps: @escaping @Sendable (ConnectionInfo) -> [ConnectionStep]
    ) {
        self.name = name
        self.summary = summary
        self.expectation = expectation
        self.requestCount = requestCount
        self.onlyOutOfProcess = onlyOutOfProcess
        self.steps = steps
    }

    /// The name.
    public var description: String { name }

    /// The whole catalog.
    public static let all: [Misbehavior] = [
        connections, statusLines, heads, lengths, chunks, compressions, interims, reuses, paces, semantics,
    ].flatMap { $0 }

    /// Returns the entry with a name; `nil` if no entry has it.
    /// - Parameter name: The name, in kebab-case.
    public static func named(_ name: String) -> Misbehavior? { all.first { $0.name == name } }

    /// The fields and the body of a short response, after which the connection closes.
    static let shortFields = "Content-Length: 5\r\nConnection: close\r\n\r\nhello"

    /// Makes a misbehavior that reads a request, sends a response unchanged, and runs another step.
    static func raw(
        _ name: String, _ summary: String, expecting expectation: Expectation, onlyOutOfProcess: Bool = false, _ response: String,
        then last: ConnectionStep = .close
    ) -> Misbehavior {
        Misbehavior(name, summary, expecting: expectation, onlyOutOfProcess: onlyOutOfProcess) { _ in
            [.receiveRequest, .send(response), last]
        }
    }
}

extension TestServer {
    /// Starts a server that shows one misbehavior of the catalog.
    /// - Parameter misbehavior: The misbehavior.
    /// - Returns: The server, already listening.
    /// - Throws: `TestServerError` if the process has no descriptors left.
    public static func start(_ misbehavior: Misbehavior) async throws -> TestServer { try await start(script: misbehavior.steps) }
}

extension Misbehavior.Expectation {
    /// The response of most entries, where a client has to accept it, and where it may reject it.
    static let hello = success(status: 200, body: "hello")
    static let helloOrFailure = successOrFailure(status: 200, body: "hello")
}
