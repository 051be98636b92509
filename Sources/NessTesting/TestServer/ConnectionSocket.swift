import Foundation

/// The reason why a connection's thread stops its work. It never reaches a user.
enum ConnectionEnd: Error {
    /// The peer closed or reset the connection, or the server stops.
    case gone
    /// The script closed the connection.
    case finished
    /// The script returns the connection to the handler. An error unwinds the stack; a call would deepen it with each reply.
    case resumed
    /// The request breaks the protocol. The server responds with this status, and closes.
    case refused(status: Int, text: String)
}

/// An accepted connection. Only its own thread uses it. Each wait of that thread also ends when the server stops.
///
/// No other thread shuts the socket down. A client in the middle of a header would see an orderly end there, and URLSession on Linux would
/// end its process.
final class ConnectionSocket {
    let descriptor: Int32
    /// A descriptor that is readable once the server stops.
    let stop: Int32
    /// Encrypts the connection; `nil` for a plain one.
    private let session: TLSSession?
    private var isClosed = false
    /// A pipe that ends a read when another thread wakes it; `nil` for none. The read then throws `ConnectionEnd.gone`.
    var interruption: WakePipe?

    init(descriptor: Int32, stop: Int32, session: TLSSession? = nil) {
        self.descriptor = descriptor
        self.stop = stop
        self.session = session
    }

    deinit { close() }

    /// True once the server stops.
    var isStopping: Bool { PollResult.of(stop, events: 0, stop: stop, timeout: 0) == .ended }

    /// Closes the descriptor. Further calls do nothing.
    /// - Parameter resetting: True if the peer gets a reset instead of an orderly end.
    func close(resetting: Bool = false) {
        guard !isClosed else { return }
        isClosed = true
        if !resetting { endSession() }
        if resetting {
            var option = linger(l_onoff: 1, l_linger: 0)
            _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
        Platform.closeDescriptor(descriptor)
    }

    /// Ends the sending side. Reading continues.
    func closeWriting() {
        endSession()
        _ = shutdown(descriptor, Platform.shutWrite)
    }

    /// Sends the TLS closure alert on an encrypted connection. A peer that does not read misses it.
    private func endSession() {
        guard let session else { return }
        session.close()
        let output = session.takeOutput()
        output.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { _ = Platform.retrying { Platform.transmit(base, bytes.count, to: descriptor) } }
        }
    }

    /// Returns bytes that have arrived, or blocks until some arrive.
    /// - Returns: The number of bytes; 0 at the end of the stream.
    /// - Throws: `ConnectionEnd.gone` if the connection was reset, or the server stops.
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let session else { return try receiveRaw(into: buffer) }
        return try exchange(session) { $0.read(into: buffer) }
    }

    /// Runs a step of the TLS session, and sends and receives the bytes that the step needs.
    /// - Returns: The number of bytes that the step read or wrote; 0 at the end of the stream.
    private func exchange(_ session: TLSSession, _ step: (TLSSession) -> TLSSession.Outcome) throws -> Int {
        while true {
            let outcome = step(session)
            try session.takeOutput().withUnsafeBytes { try sendRaw($0) }
            switch outcome {
            case .done(let count): return count
            case .closed: return 0
            case .failed:
                try lingerAfterFailure()
                throw ConnectionEnd.gone
            case .needsInput:
                let count = try withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
                    let count = try receiveRaw(into: buffer)
                    session.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    return count
                }
                if count == 0 { return 0 }
            }
        }
    }

    /// Ends the sending, and reads until the peer has closed: a close over unread bytes would reset the connection, and the peer would miss
    /// the alert that says what failed.
    private func lingerAfterFailure() throws {
        _ = shutdown(descriptor, Platform.shutWrite)
        try withUnsafeTemporaryAllocation(byteCount: 4 << 10, alignment: 16) { buffer in
            while try receiveRaw(into: buffer) > 0 {}
        }
    }

    private func receiveRaw(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var poll = PollResult.nothing
        while poll == .nothing {
            poll = PollResult.of(descriptor, events: Platform.readable, stop: stop, pipe: interruption?.readingEnd)
        }
        guard poll == .readable else { throw ConnectionEnd.gone }
        let (count, _) = Platform.retrying { recv(descriptor, base, buffer.count, 0) }
        guard count >= 0 else { throw ConnectionEnd.gone }
        return count
    }

    /// Reads and drops the bytes that have already arrived, without blocking. A close over unread bytes would reset the connection.
    func discardPending(using buffer: UnsafeMutableRawBufferPointer) {
        guard let base = buffer.baseAddress else { return }
        while Platform.retrying({ recv(descriptor, base, buffer.count, Int32(MSG_DONTWAIT)) }).result > 0 {}
    }

    /// Sends all the bytes, and blocks while the peer does not read.
    /// - Throws: `ConnectionEnd.gone` if the connection has ended, or the server stops.
    func send(_ bytes: UnsafeRawBufferPointer) throws {
        guard let session else { return try sendRaw(bytes) }
        var rest = bytes
        while !rest.isEmpty {
            // The session encrypts into memory. Sending in pieces bounds that memory.
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(64 << 10))
            let count = try exchange(session) { $0.write(piece) }
            guard count > 0 else { throw ConnectionEnd.gone }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Sends bytes as they are, even on an encrypted connection.
    func sendRaw(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty, let base = rest.baseAddress {
            let (count, code) = Platform.retrying { Platform.transmit(base, rest.count, to: descriptor) }
            if count < 0 {
                guard code == EAGAIN || code == EWOULDBLOCK else { throw ConnectionEnd.gone }
                if PollResult.of(descriptor, events: Platform.writable, stop: stop) == .ended { throw ConnectionEnd.gone }
                continue
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }
}
