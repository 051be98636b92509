#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A thread that runs a closure and ends with it. Unlike Foundation's `Thread`, it reports when the system cannot start a thread. Code that
/// waits for the closure would otherwise wait forever.
package enum NativeThread {
    /// Starts a thread.
    /// - Parameters:
    ///   - stackSize: The size of the stack in bytes; `nil` for the system's.
    ///   - body: Runs on the new thread. It is released without a call if no thread was started.
    /// - Returns: 0, or the `errno` of the failure.
    package static func start(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) -> Int32 {
        var attributes = pthread_attr_t()
        var code = pthread_attr_init(&attributes)
        guard code == 0 else { return code }
        defer { pthread_attr_destroy(&attributes) }
        code = pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        if code == 0, let stackSize { code = pthread_attr_setstacksize(&attributes, stackSize) }
        guard code == 0 else { return code }
        let work = Unmanaged.passRetained(Work(body))
        code = withPlace {
            pthread_create(
                $0, &attributes,
                {
                    NativeThread.run($0)
                    return nil
                }, work.toOpaque())
        }
        if code != 0 { work.release() }
        return code
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static func run(_ work: UnsafeMutableRawPointer?) {
        if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
    }

    /// Calls a closure with a place for the thread's number, whose type differs between the C libraries.
    private static func withPlace<Number>(_ body: (UnsafeMutablePointer<Number>) -> Int32) -> Int32 {
        let place = UnsafeMutablePointer<Number>.allocate(capacity: 1)
        defer { place.deallocate() }
        return body(place)
    }
}

/// The identity of a thread. It is unique only while the thread exists.
typealias ThreadID = UInt

func currentThread() -> ThreadID {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(bitPattern: Int(truncatingIfNeeded: pthread_self()))
    #endif
}

/// The number of processors that are online.
var cores: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
