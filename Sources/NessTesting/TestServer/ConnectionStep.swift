import Foundation

/// One step of what a `TestServer` does on a connection, byte by byte if need be.
///
/// Steps run one after another on the connection's own thread. Whichever waits ends early when the peer closes or the server stops, and
/// with it the script. When the steps run out the connection is closed. A peer that has shut down its sending side counts as closed wherever a
/// step reads, waits or delays.
public struct ConnectionStep: Sendable {
    /// The kinds of steps.
    enum Action: Sendable {
        case receiveHead
        case receiveRequest
        case receive(Int)
        case send(Data)
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

    /// Reads up to and with the blank line behind a request's header fields, and drops it.
    public static let receiveHead = ConnectionStep(action: .receiveHead)

    /// Reads a whole request, with its body, and records it in `TestServer.requests`. A malformed one is answered with 400 and a close.
    public static let receiveRequest = ConnectionStep(action: .receiveRequest)

    /// Reads a number of bytes and drops them.
    /// - Parameter bytes: How many.
    public static func receive(bytes: Int) -> ConnectionStep { ConnectionStep(action: .receive(bytes)) }

    /// Sends text, as UTF-8, as it is. Lines need their own `\r\n`.
    /// - Parameter text: What to send.
    public static func send(_ text: String) -> ConnectionStep { ConnectionStep(action: .send(Data(text.utf8))) }

    /// Sends bytes as they are.
    /// - Parameter data: What to send.
    public static func sendData(_ data: Data) -> ConnectionStep { ConnectionStep(action: .send(data)) }

    /// Sends text byte by byte, each in a segment of its own.
    /// - Parameters:
    ///   - text: What to send, as UTF-8.
    ///   - interval: The real time to let pass before each further byte, in steps of a millisecond.
    public static func drip(_ text: String, every interval: Duration = .zero) -> ConnectionStep {
        ConnectionStep(action: .drip(Data(text.utf8), interval))
    }

    /// Sends bytes one by one, each in a segment of its own.
    /// - Parameters:
    ///   - data: What to send.
    ///   - interval: The real time to let pass before each further byte, in steps of a millisecond.
    public static func dripData(_ data: Data, every interval: Duration = .zero) -> ConnectionStep {
        ConnectionStep(action: .drip(data, interval))
    }

    /// Sends a well-formed reply to the last request that was received on the connection. The connection stays open.
    /// - Parameter reply: The reply.
    public static func respond(_ reply: Reply) -> ConnectionStep { ConnectionStep(action: .respond(reply)) }

    /// Waits until a gate is open.
    /// - Parameter gate: The gate that the test opens.
    public static func wait(_ gate: TestGate) -> ConnectionStep { ConnectionStep(action: .wait(gate)) }

    /// Opens a gate, which tells the test that the script has got here.
    /// - Parameter gate: The gate that the test waits at.
    public static func signal(_ gate: TestGate) -> ConnectionStep { ConnectionStep(action: .signal(gate)) }

    /// Lets real time pass. A last resort: a gate makes a test that can't depend on the machine's speed.
    /// - Parameter duration: How long, in steps of a millisecond.
    public static func delay(_ duration: Duration) -> ConnectionStep { ConnectionStep(action: .delay(duration)) }

    /// Does nothing more, but keeps the connection open, reading and dropping what comes, until the peer closes or the server stops.
    public static let stall = ConnectionStep(action: .stall)

    /// Ends the connection with a TCP reset. What the peer has not read yet may be lost.
    public static let reset = ConnectionStep(action: .reset)

    /// Closes the sending side only; the peer sees the end of the stream, and the script can go on reading.
    public static let halfClose = ConnectionStep(action: .halfClose)

    /// Closes the connection in an orderly way.
    public static let close = ConnectionStep(action: .close)

    /// Runs steps until the connection ends.
    /// - Parameter steps: The steps, among which at least one should read, send or wait.
    public static func loop(_ steps: [ConnectionStep]) -> ConnectionStep { ConnectionStep(action: .repeated(nil, steps)) }

    /// Runs steps several times.
    /// - Parameters:
    ///   - count: How often.
    ///   - steps: The steps.
    public static func repeated(_ count: Int, _ steps: [ConnectionStep]) -> ConnectionStep {
        ConnectionStep(action: .repeated(max(0, count), steps))
    }

    /// Becomes a well-behaved server for the rest of the connection.
    /// - Parameter handler: Answers each request. Runs as a task of its own.
    public static func serve(_ handler: @escaping TestServer.Handler) -> ConnectionStep { ConnectionStep(action: .serve(handler)) }

    /// Ends the script and goes back to the handler that answered with it, for the connection's further requests. Where no handler did, each
    /// is answered with 404.
    public static let resumeServing = ConnectionStep(action: .resumeServing)

    /// Connects to a port of 127.0.0.1 and passes everything on in both directions, an end or a reset of either side included, until both have
    /// ended. For plain connections: what a client encrypts goes through as it is.
    /// - Parameter port: The port. Where nothing listens, the connection is reset.
    public static func tunnel(toPort port: Int) -> ConnectionStep { ConnectionStep(action: .tunnel(port)) }

    /// Sends the same bytes over and over, until the peer closes or the server stops.
    /// - Parameter data: What to repeat.
    public static func sendUntilClosed(_ data: Data) -> ConnectionStep { ConnectionStep(action: .sendUntilClosed(data)) }
}

/// What a script knows of the connection that it is about to run on.
public struct ConnectionInfo: Sendable, Hashable {
    /// The number of this connection among all that the server has accepted, counted from 1.
    public let number: Int

    /// Makes one, to try a script out.
    /// - Parameter number: The connection's number, counted from 1.
    public init(number: Int) { self.number = number }
}
