/// A named way in which a server can misbehave, and what a client that tells the truth makes of it.
///
/// ```swift
/// for misbehaviour in Misbehaviour.all where !misbehaviour.onlyOutOfProcess {
///     let server = try await TestServer.start(misbehaviour)
///     // … send misbehaviour.requestCount GET requests, one after another, to server.url …
///     // … and compare the outcome of the last with misbehaviour.expectation …
///     await server.stop()
/// }
/// ```
/// Every entry is meant for GET requests to any path. None depends on time: what has to be slow stalls for good.
public struct Misbehaviour: Sendable, CustomStringConvertible {
    /// What a truthful client reports for the last of the requests.
    public enum Expectation: Sendable, Hashable {
        /// Exactly this response, with this decoded body.
        case success(status: Int, body: String)
        /// Either exactly this response or an error, of whatever kind; never another response.
        case successOrFailure(status: Int, body: String)
        /// An error that says that the connection was lost.
        case connectionLost
        /// An error that says that the body is incomplete; never a success with what has come.
        case truncated
        /// An error that says that the response breaks the protocol.
        case malformedResponse
        /// An error from a client that limits the size of responses; without a limit the client never ends, or exhausts the memory.
        case tooLarge
        /// Nothing comes any more: only a timer of the client's ends it, with an error that says so.
        case timesOut
        /// An error, of whatever kind.
        case anyFailure
    }

    /// The name, in kebab-case, unique in the catalogue.
    public let name: String
    /// What the server does, in one line.
    public let summary: String
    /// What a truthful client reports for the last of the requests.
    public let expectation: Expectation
    /// How many requests the client has to send, one after another, each after the response to the one before.
    public let requestCount: Int
    /// Whether URLSession on Linux, with Swift 6.3 and libcurl 7.88, ends its process over it, or never comes back. Test such a client from
    /// another process.
    public let onlyOutOfProcess: Bool
    /// The steps for a connection. For use as a script: `TestServer.start(script: misbehaviour.steps)`.
    public let steps: @Sendable (ConnectionInfo) -> [ConnectionStep]

    /// Makes a misbehaviour.
    /// - Parameters:
    ///   - name: The name, in kebab-case.
    ///   - summary: What the server does, in one line.
    ///   - expectation: What a truthful client reports for the last of the requests.
    ///   - requestCount: How many requests the client has to send, one after another.
    ///   - onlyOutOfProcess: Whether URLSession on Linux ends its process over it.
    ///   - steps: The steps for a connection. Runs on the connection's thread.
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

    /// The whole catalogue.
    public static let all: [Misbehaviour] = {
        var all: [Misbehaviour] = connections
        all += statusLines
        all += heads
        all += lengths
        all += chunks
        all += compressions
        all += interims
        all += reuses
        all += paces
        all += semantics
        return all
    }()

    /// The entry with a name, or nil where there is none.
    /// - Parameter name: The name, in kebab-case.
    public static func named(_ name: String) -> Misbehaviour? { all.first { $0.name == name } }

    /// One that reads a request, sends these bytes as they are, and goes on with another step.
    static func raw(
        _ name: String, _ summary: String, expecting expectation: Expectation, onlyOutOfProcess: Bool = false, _ response: String,
        then last: ConnectionStep = .close
    ) -> Misbehaviour {
        Misbehaviour(name, summary, expecting: expectation, onlyOutOfProcess: onlyOutOfProcess) { _ in
            [.receiveRequest, .send(response), last]
        }
    }
}

extension TestServer {
    /// Starts a server that misbehaves in one way of the catalogue.
    /// - Parameters:
    ///   - misbehaviour: The way.
    ///   - port: The port, or 0 for one that the system picks.
    ///   - certificate: Has the server speak TLS and show this; nil for plain HTTP.
    /// - Returns: The server, already listening.
    /// - Throws: `TestServerError` when the port is taken or the process has no descriptors left.
    public static func start(
        _ misbehaviour: Misbehaviour, port: UInt16 = 0, certificate: TestCertificate? = nil
    ) async throws -> TestServer {
        try await start(port: port, certificate: certificate, script: misbehaviour.steps)
    }
}
