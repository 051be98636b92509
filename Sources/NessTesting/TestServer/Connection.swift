import Dispatch
import Foundation
import NessHTTP
import NessLock

/// One accepted connection, from its first byte to its close. Only its own thread uses it.
final class Connection {
    let socket: ConnectionSocket
    let core: ServerCore
    let number: Int
    let reader: ConnectionReader
    /// The last request that was read. A reply depends on its method and version.
    private(set) var current: IncomingRequest?
    private var requestCount = 0
    /// True from the first byte of a reply to its end.
    private(set) var isReplying = false
    /// True from the head of a request to the end of its reply, and throughout a script.
    private var isBusy = false {
        didSet {
            if isBusy != oldValue { core.changeBusyConnections(by: isBusy ? 1 : -1) }
        }
    }

    init(socket: ConnectionSocket, core: ServerCore, number: Int) {
        self.socket = socket
        self.core = core
        self.number = number
        reader = ConnectionReader(socket: socket) { core.received(bytes: $0) }
    }

    /// Serves the connection with the handler or the script. Returns when the connection has ended; the caller closes the socket.
    func run() {
        defer { isBusy = false }
        do {
            switch core.behavior {
            case .handler(let handler): try serve(handler)
            case .script(let script):
                isBusy = true
                do {
                    try ScriptRunner(connection: self).run(script(ConnectionInfo(number: number)))
                    isReplying = false
                } catch ConnectionEnd.resumed {
                    try serve { _ in .status(404) }
                }
            }
            reader.discardPending()
        } catch ConnectionEnd.refused(let status, let text) {
            refuse(status, text)
        } catch {
            // The peer has gone, or the script has closed the connection. There is nothing left to send.
        }
    }

    /// Serves requests until the client or the server wants the connection closed.
    func serve(_ handler: @escaping TestServer.Handler) throws {
        while true {
            let head = try receiveHead()
            if let route = core.route(for: head) {
                guard try route.serve(head, on: self) else { return }
            } else {
                guard try respond(reply(of: handler, to: receiveBody(of: head))) else { return }
            }
            isBusy = false
        }
    }

    /// Runs a handler as a task.
    /// - Returns: The handler's reply, or a 500 with the text of the handler's error.
    /// - Throws: `ConnectionEnd`. The handler's task is canceled then, and its reply is dropped.
    private func reply(of handler: @escaping TestServer.Handler, to request: ReceivedRequest) throws -> Reply {
        switch try run({ try await handler(request) }) {
        case .success(let reply): reply
        case .failure(let error): .text("The handler threw: \(error)", status: 500)
        }
    }

    /// Runs a closure as a task.
    /// - Returns: The closure's outcome.
    /// - Throws: `ConnectionEnd`. The task is canceled then, and its outcome is dropped.
    func run<Value: Sendable>(_ closure: @escaping @Sendable () async throws -> Value) throws -> Result<Value, any Error> {
        let outcome = Lock<Result<Value, any Error>?>(nil), isDone = TestGate(), done = DispatchSemaphore(value: 0)
        let task = Task {
            let result: Result<Value, any Error>
            do { result = .success(try await closure()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            isDone.open()
            done.signal()
        }
        // Most handlers respond immediately. Only for a slower one does the thread also watch the socket, which takes two descriptors.
        if done.wait(timeout: .now() + .milliseconds(10)) == .timedOut {
            do {
                // A client that only ends its sending looks the same as one that has gone.
                try wait(for: isDone) { task.cancel() }
            } catch {
                task.cancel()
                throw error
            }
        }
        guard let result = outcome.withLock({ $0 }) else { throw ConnectionEnd.gone }
        return result
    }

    /// Reads a request with its body, and records it.
    /// - Throws: `ConnectionEnd`.
    func receiveRequest() throws -> ReceivedRequest { try receiveBody(of: receiveHead()) }

    private func receiveHead() throws -> IncomingRequest {
        isReplying = false
        let lines = try reader.lines(skipsBlankLines: true)
        isBusy = true
        let incoming = try IncomingRequest(lines: lines)
        current = incoming
        return incoming
    }

    private func receiveBody(of incoming: IncomingRequest) throws -> ReceivedRequest {
        try sendContinue(to: incoming)
        let (body, trailers) = try BodyReader.read(incoming.framing, from: reader, limit: core.bodyLimit)
        return record(incoming, body: body, trailers: trailers)
    }

    /// Sends a 100 if the client waits for it.
    /// - Throws: `ConnectionEnd.gone`.
    func sendContinue(to incoming: IncomingRequest) throws {
        if incoming.expectsContinue, reader.backlog == 0 { try send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    }

    /// Counts and records a request that was read completely.
    /// - Parameters:
    ///   - incoming: The request's head.
    ///   - body: The body; `nil` if a route has taken it piece by piece.
    ///   - trailers: The trailer fields.
    /// - Returns: The recorded request.
    @discardableResult
    func record(_ incoming: IncomingRequest, body: Data?, trailers: HTTPHeaders) -> ReceivedRequest {
        requestCount += 1
        var request = ReceivedRequest(
            method: incoming.method, target: incoming.target, headers: incoming.headers, body: body ?? Data(), trailers: trailers,
            isChunked: incoming.framing == .chunked, connectionNumber: number, requestNumberOnConnection: requestCount)
        request.isBodyDropped = body == nil && incoming.framing != .length(0)
        core.received(&request)
        return request
    }

    /// Sends a reply.
    /// - Returns: True if the connection stays open after the reply.
    /// - Throws: `ConnectionEnd`.
    func respond(_ reply: Reply) throws -> Bool {
        let clientKeepsAlive = current?.keepsAlive ?? true
        func send(_ headers: HTTPHeaders, _ encode: (ReplyEncoder) -> [Data]) throws -> Bool {
            let closes = !clientKeepsAlive || IncomingRequest.tokens(headers["Connection"]).contains("close")
            let encoder = ReplyEncoder(isHead: current?.method == .head, isHTTP10: current?.isHTTP10 ?? false, closes: closes)
            for data in encode(encoder) { try self.send(data) }
            isReplying = false
            return !closes
        }
        // A peer that has ended its own sending may still be waiting for the reply.
        if reply.delay > .zero { _ = try wait(for: nil, until: .now + reply.delay, onEndOfStream: {}) }
        switch reply.content {
        case .full(let status, let headers, let body):
            return try send(headers) { $0.encode(status: status, headers: headers, body: body) }
        case .chunked(let status, let headers, let pieces, let trailers):
            return try send(headers) { $0.encode(status: status, headers: headers, pieces: pieces, trailers: trailers) }
        case .script(let steps):
            do {
                try ScriptRunner(connection: self).run(steps)
                isReplying = false
                return false
            } catch ConnectionEnd.resumed {
                return true
            }
        case .failure:
            try ScriptRunner(connection: self).run([.reset])
            return false
        }
    }

    /// Sends all the bytes.
    /// - Throws: `ConnectionEnd.gone`.
    func send(_ data: Data) throws {
        isReplying = true
        try data.withUnsafeBytes { try socket.send($0) }
    }

    /// Blocks until a gate is open.
    /// - Parameter onEndOfStream: See `wait(for:until:onEndOfStream:)`.
    /// - Throws: `ConnectionEnd.gone` if the peer has closed or the server stops.
    func wait(for gate: TestGate, onEndOfStream: (() -> Void)? = nil) throws {
        guard !gate.isOpen else { return }
        guard let pipe = try? WakePipe() else { throw ConnectionEnd.gone }
        defer { pipe.close() }
        gate.addWakeUp(pipe)
        defer { gate.removeWakeUp(pipe) }
        _ = try wait(for: pipe, until: nil, onEndOfStream: onEndOfStream)
    }

    /// Blocks until a pipe is woken or a deadline has passed. Bytes that the peer sends meanwhile stay in the buffer.
    /// - Parameters:
    ///   - pipe: The pipe to wait for.
    ///   - deadline: The end of the wait; `nil` for none.
    ///   - onEndOfStream: Called when the peer ends its sending; the wait continues. If `nil`, that end counts as the end of the
    ///     connection.
    /// - Returns: True if the pipe was woken; false if the deadline passed.
    /// - Throws: `ConnectionEnd.gone` if the peer has closed or the server stops.
    func wait(for pipe: WakePipe?, until deadline: ContinuousClock.Instant?, onEndOfStream: (() -> Void)? = nil) throws -> Bool {
        if reader.isAtEnd {
            guard let onEndOfStream else { throw ConnectionEnd.gone }
            onEndOfStream()
        }
        while true {
            let reads = !reader.isAtEnd && reader.backlog < ConnectionReader.backlogLimit
            var timeout: Int32 = -1
            if let deadline {
                let left = ContinuousClock.now.duration(to: deadline)
                if left <= .zero { return false }
                // Rounded up, so that a wait never ends early. Capped at a day, after which this loop waits again.
                timeout = Int32((min(left, .seconds(86_400)) / .milliseconds(1)).rounded(.up))
            }
            let events = reads ? Platform.readable : 0
            switch PollResult.of(socket.descriptor, events: events, stop: socket.stop, pipe: pipe?.readingEnd, timeout: timeout) {
            case .woken: return true
            case .nothing, .writable: continue
            case .ended: throw ConnectionEnd.gone
            case .readable:
                if try reader.fill() { continue }
                guard let onEndOfStream else { throw ConnectionEnd.gone }
                onEndOfStream()
            }
        }
    }

    /// Rejects a malformed request and closes. It reads what the peer still sends, because a close over unread bytes would reset the
    /// connection and lose the response.
    private func refuse(_ status: Int, _ text: String) {
        let encoder = ReplyEncoder(isHead: false, isHTTP10: false, closes: true)
        for data in encoder.encode(status: status, headers: ["Content-Type": "text/plain"], body: Data((text + "\n").utf8)) {
            guard (try? send(data)) != nil else { return }
        }
        socket.closeWriting()
        reader.discardUntilClosed()
    }
}
