import Foundation

/// The reason why a connection's thread was woken.
enum PollResult {
    case woken, readable, writable, ended, nothing

    /// Waits for a connection's socket, the server's stop and a pipe.
    /// - Parameters:
    ///   - socket: The socket.
    ///   - events: The events of interest. The end of the connection is always reported.
    ///   - stop: A descriptor that is readable once the server stops. That ends the connection.
    ///   - pipe: The pipe's reading end.
    ///   - timeout: Milliseconds, or -1 for none.
    static func of(_ socket: Int32, events: Int16, stop: Int32, pipe: Int32? = nil, timeout: Int32 = -1) -> PollResult {
        var descriptors = [
            pollfd(fd: socket, events: events | Platform.ended, revents: 0), pollfd(fd: stop, events: Platform.readable, revents: 0),
        ]
        if let pipe { descriptors.append(pollfd(fd: pipe, events: Platform.readable, revents: 0)) }
        Platform.wait(for: &descriptors, timeout: timeout)
        if descriptors[1].revents != 0 { return .ended }
        if pipe != nil, descriptors[2].revents != 0 { return .woken }
        let happened = descriptors[0].revents
        if happened & Platform.readable != 0 { return .readable }
        if happened & Platform.writable != 0 { return .writable }
        return happened == 0 ? .nothing : .ended
    }
}
