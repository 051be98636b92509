import Foundation

/// The functions and constants whose names or types differ between the C libraries.
enum Platform {
    #if canImport(Glibc)
    static let streamSocket = Int32(SOCK_STREAM.rawValue)
    #else
    static let streamSocket = Int32(SOCK_STREAM)
    #endif

    #if canImport(Darwin)
    static let sendFlags = Int32(MSG_DONTWAIT)
    #else
    /// A send to a closed connection is an error, never a SIGPIPE. A send to a peer that does not read does not block: `poll` waits
    /// instead.
    static let sendFlags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    #endif

    static let shutWrite = Int32(SHUT_WR)
    static let readable = Int16(POLLIN)
    /// The end of a connection. Linux always reports it. Darwin does so only if the caller requests this or another reading event.
    static let ended = Int16(POLLHUP)
    static let writable = Int16(POLLOUT)

    /// Repeats a call while a signal interrupts it.
    /// - Returns: The result of the call, and `errno` if the result is negative.
    static func retrying(_ call: () -> Int) -> (result: Int, code: Int32) {
        while true {
            let result = call()
            guard result < 0 else { return (result, 0) }
            let code = errno
            if code != EINTR { return (result, code) }
        }
    }

    /// Calls a closure with the address of a port of 127.0.0.1.
    static func withLoopback<Result>(
        _ port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        var address = sockaddr_in()
        #if canImport(Darwin)
        address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
        #endif
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    static func closeDescriptor(_ descriptor: Int32) {
        // Not repeated after EINTR: the descriptor is closed anyway, and another thread may already have got the same number.
        _ = close(descriptor)
    }

    /// Closes a descriptor in child processes, which would otherwise hold the connection open.
    static func closeOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

    static func setBlocking(_ descriptor: Int32, _ isBlocking: Bool) {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0 else { return }
        _ = fcntl(descriptor, F_SETFL, isBlocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK)
    }

    /// Sets an option of a socket.
    /// - Returns: False if the system rejects the option.
    @discardableResult
    static func setOption(_ descriptor: Int32, level: Int32, name: Int32, value: Int32) -> Bool {
        var value = value
        return setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    /// Sets the options of a listening or accepted socket: no delay for small segments, no SIGPIPE, no inheritance by child processes.
    /// - Returns: False if the socket must not be used. A peer that has gone already makes Darwin reject all options, and the next send
    ///   would end the process.
    static func prepareSocket(_ descriptor: Int32) -> Bool {
        closeOnExec(descriptor)
        setOption(descriptor, level: Int32(IPPROTO_TCP), name: TCP_NODELAY, value: 1)
        #if canImport(Darwin)
        return setOption(descriptor, level: SOL_SOCKET, name: SO_NOSIGPIPE, value: 1)
        #else
        return true
        #endif
    }

    /// Waits for readiness.
    /// - Parameter timeout: Milliseconds, or -1 for none.
    static func wait(for descriptors: inout [pollfd], timeout: Int32) { _ = poll(&descriptors, nfds_t(descriptors.count), timeout) }

    /// Sends bytes without blocking.
    /// - Returns: The number of bytes, or -1.
    static func transmit(_ base: UnsafeRawPointer, _ count: Int, to descriptor: Int32) -> Int { send(descriptor, base, count, sendFlags) }
}
