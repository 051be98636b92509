// Apple's C library. Glibc stands in for what both have.
@_exported import Glibc

// Missing in Glibc, or of another type there.
public let SOCK_STREAM: Int32 = 1
public let SO_NOSIGPIPE: Int32 = 4130
public let F_FULLFSYNC: Int32 = 51
public let F_BARRIERFSYNC: Int32 = 85
public let CLOCK_MONOTONIC_RAW: clockid_t = 4

public func sysctlbyname(
    _ name: UnsafePointer<CChar>!, _ old: UnsafeMutableRawPointer!, _ oldLength: UnsafeMutablePointer<Int>!,
    _ new: UnsafeMutableRawPointer!, _ newLength: Int
) -> Int32 { 0 }

public struct ThreadRecord {}
public func pthread_self() -> UnsafeMutablePointer<ThreadRecord> { fatalError() }

public extension sockaddr_in {
    var sin_len: UInt8 {
        get { 0 }
        set {}
    }
}

public extension stat {
    var st_mtimespec: timespec { st_mtim }
}

// In Glibc, but not on Apple platforms.
@available(*, unavailable) public var MSG_NOSIGNAL: Int32 { 0 }
@available(*, unavailable) public var SOCK_CLOEXEC: Int32 { 0 }
@available(*, unavailable) public func fdatasync(_ file: Int32) -> Int32 { 0 }
@available(*, unavailable) public func pipe2(_ ends: UnsafeMutablePointer<Int32>, _ flags: Int32) -> Int32 { 0 }
@available(*, unavailable) public func accept4(
    _ listener: Int32, _ address: UnsafeMutablePointer<sockaddr>?, _ length: UnsafeMutablePointer<socklen_t>?, _ flags: Int32
) -> Int32 { 0 }

// Of another type in Glibc.
public func getrlimit(_ resource: __rlimit_resource, _ limit: UnsafeMutablePointer<rlimit>) -> Int32 { 0 }
@discardableResult public func setrlimit(_ resource: __rlimit_resource, _ limit: UnsafePointer<rlimit>) -> Int32 { 0 }
