#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What a connection's thread was woken by.
enum PollResult {
    case woken, readable, ended, nothing

    /// Polls a connection's socket and a pipe.
    /// - Parameters:
    ///   - socket: The socket.
    ///   - reads: Whether incoming bytes are of interest, besides the connection's end.
    ///   - pipe: The pipe's reading end.
    ///   - timeout: Milliseconds, or -1 for none.
    static func of(_ socket: Int32, reads: Bool, pipe: Int32?, timeout: Int32) -> PollResult {
        var descriptors = [pollfd(fd: socket, events: reads ? Platform.readable : 0, revents: 0)]
        if let pipe { descriptors.append(pollfd(fd: pipe, events: Platform.readable, revents: 0)) }
        Platform.poll(&descriptors, timeout: timeout)
        if pipe != nil, descriptors[1].revents != 0 { return .woken }
        let events = descriptors[0].revents
        if events & Platform.readable != 0 { return .readable }
        return events == 0 ? .nothing : .ended
    }
}
