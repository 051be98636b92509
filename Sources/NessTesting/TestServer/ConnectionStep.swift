import Foundation

/// One step of a script that a `TestServer` runs on a connection. Scripts control every byte that is sent.
///
/// Steps run in order on the connection's thread. A waiting step ends early, and the script with it, if the peer closes or the server
/// stops. After the last step the server closes the connection. A peer that has ended its sending counts as closed in every step that
/// reads, waits or delays.
public struct ConnectionStep: Sendable {
    /// The kinds of steps.
    enum Action: Sendable {
        case receiveHead
        case receiveRequest
        case receive(Int)
        case send(Data)
        case sendEach(@Sendable () async throws -> Data?)
        case sendUnencrypted(Data)
        case drip(Data, Duration)
        case respond(Reply)
        case wait(TestGate)
        case signal(TestGate)
        case delay(Duration)
        case stall
        case reset
        case halfClose
        case close
        case repeated(Int?, [ConnectionStep])
        case serve(TestServer.Handler)
        case resumeServing
        case sendUntilClosed(Data)
        case tunnel(Int)
    }

    let action: Action

    /// Reads a request's head, up to and including the blank line, and drops it.
    public static let receiveHead = ConnectionStep(action: .receiveHead)

    /// Reads a whole request, with its body, and records it in `TestServer.requests`. The response to a malformed request is a 400, and the
    /// connection is closed.
    public static let receiveRequest = ConnectionStep(action: .receiveRequest)

    /// Reads a number of bytes and drops them.
    /// - Parameter bytes: The number of bytes.
    public static func receive(bytes: Int) -> ConnectionStep { ConnectionStep(action: .receive(bytes)) }

    /// Sends text as UTF-8, unchanged. Lines need their own `\r\n`.
    /// - Parameter text: The text.
    public static func send(_ text: String) -> ConnectionStep { ConnectionStep(action: .send(Data(text.utf8))) }

    /// Sends bytes unchanged.
    /// - Parameter data: The bytes.
    public static func sendData(_ data: Data) -> ConnectionStep { ConnectionStep(action: .send(data)) }

    /// Sends the chunks that a closure returns, unchanged, until it returns `nil`. For a response that follows what happens in the program,
    /// such as a stream of server-sent events.
    ///
    /// ```swift
    /// actor Countdown {
    ///     private var rest = 3
    ///     func next() -> Data? {
    ///         rest -= 1
    ///         return rest < 0 ? nil : Data("\(rest)\n".utf8)
    ///     }
    /// }
    ///
    /// let countdown = Countdown()
    /// let server = try await TestServer.start { _ in
    ///     .script([
    ///         .send("HTTP/1.1 200 OK\r\n\r\n"),
    ///         .sendEach { await countdown.next() },
    ///     ])
    /// }
    /// ```
    /// - Parameter next: Returns the next chunk. Each call runs as a separate task, off the main thread, after the chunk before has been
    ///   sent: a slow reader delays it. The task is canceled when the client closes the connection or the server stops. An error resets
    ///   the connection.
    public static func sendEach(_ next: @escaping @Sendable () async throws -> Data?) -> ConnectionStep {
        ConnectionStep(action: .sendEach(next))
    }

    /// Sends bytes unchanged, even on an encrypted connection, where they are not a valid record.
    /// - Parameter data: The bytes.
    package static func sendUnencrypted(_ data: Data) -> ConnectionStep { ConnectionStep(action: .sendUnencrypted(data)) }

    /// Sends text byte by byte, each byte in a separate segment.
    /// - Parameters:
    ///   - text: The text, sent as UTF-8.
    ///   - interval: The real time before each further byte, rounded up to milliseconds.
    public static func drip(_ text: String, every interval: Duration = .zero) -> ConnectionStep {
        ConnectionStep(action: .drip(Data(text.utf8), interval))
    }

    /// Sends bytes one by one, each in a separate segment.
    /// - Parameters:
    ///   - data: The bytes.
    ///   - interval: The real time before each further byte, rounded up to milliseconds.
    public static func dripData(_ data: Data, every interval: Duration = .zero) -> ConnectionStep {
        ConnectionStep(action: .drip(data, interval))
    }

    /// Sends a well-formed reply to the last request that was received on the connection. The connection stays open.
    /// - Parameter reply: The reply.
    public static func respond(_ reply: Reply) -> ConnectionStep { ConnectionStep(action: .respond(reply)) }

    /// Waits until a gate is open.
    /// - Parameter gate: The gate. The test opens it.
    public static func wait(_ gate: TestGate) -> ConnectionStep { ConnectionStep(action: .wait(gate)) }

    /// Opens a gate. The test learns that the script has reached this step.
    /// - Parameter gate: The gate. The test waits at it.
    public static func signal(_ gate: TestGate) -> ConnectionStep { ConnectionStep(action: .signal(gate)) }

    /// Waits for a real duration. Prefer a gate: with a gate, the test does not depend on the machine's speed.
    /// - Parameter duration: The duration, rounded up to milliseconds.
    public static func delay(_ duration: Duration) -> ConnectionStep { ConnectionStep(action: .delay(duration)) }

    /// Keeps the connection open and sends nothing. The server reads and drops bytes until the peer closes or the server stops.
    public static let stall = ConnectionStep(action: .stall)

    /// Ends the connection with a TCP reset. Bytes that the peer has not read yet may be lost.
    public static let reset = ConnectionStep(action: .reset)

    /// Ends the sending side only. The peer sees the end of the stream. The script can still read.
    public static let halfClose = ConnectionStep(action: .halfClose)

    /// Closes the connection without a reset.
    public static let close = ConnectionStep(action: .close)

    /// Runs steps until the connection ends.
    /// - Parameter steps: The steps. At least one of them should read, send or wait.
    public static func loop(_ steps: [ConnectionStep]) -> ConnectionStep { ConnectionStep(action: .repeated(nil, steps)) }

    /// Runs steps several times.
    /// - Parameters:
    ///   - count: The number of runs.
    ///   - steps: The steps.
    public static func repeated(_ count: Int, _ steps: [ConnectionStep]) -> ConnectionStep {
        ConnectionStep(action: .repeated(max(0, count), steps))
    }

    /// Becomes a well-behaved server for the rest of the connection.
    /// - Parameter handler: Responds to each request. Each call runs as a separate task.
    public static func serve(_ handler: @escaping TestServer.Handler) -> ConnectionStep { ConnectionStep(action: .serve(handler)) }

    /// Ends the script and returns the connection to the handler that returned the script. That handler serves the further requests.
    /// In a server's own script there is no handler; each further request gets a 404.
    public static let resumeServing = ConnectionStep(action: .resumeServing)

    /// Connects to a port of 127.0.0.1 and forwards all bytes in both directions, until both sides have ended. It also passes on the end or
    /// the reset of a side. Bytes that a client has encrypted pass through unchanged. Only for a server without a certificate.
    /// - Parameter port: The port. If nothing listens there, the connection is reset.
    public static func tunnel(toPort port: Int) -> ConnectionStep { ConnectionStep(action: .tunnel(port)) }

    /// Sends the same bytes over and over, until the peer closes or the server stops.
    /// - Parameter data: The bytes to repeat.
    public static func sendUntilClosed(_ data: Data) -> ConnectionStep { ConnectionStep(action: .sendUntilClosed(data)) }
}

/// The connection that a script runs on.
public struct ConnectionInfo: Sendable, Hashable {
    /// The number of this connection among all that the server has accepted, counted from 1.
    public let number: Int
}
