import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The implementations of URLSession, which behave differently.
enum URLSessionSystem: Sendable {
    case apple
    /// swift-corelibs-foundation, which uses libcurl.
    case linux

    static var current: URLSessionSystem {
        #if canImport(Darwin)
        .apple
        #else
        .linux
        #endif
    }
}

/// The part of URLSession that a transport calls. Tests on Linux use fakes that behave as on Apple platforms.
protocol SessionDriver: AnyObject, Sendable {
    /// Makes a task, which does nothing before it is resumed.
    /// - Parameters:
    ///   - request: The request.
    ///   - isStreamed: True if the session asks for the body's stream.
    func makeTask(_ request: URLRequest, isStreamed: Bool) -> any SessionTask

    /// Ends the session after its tasks. On Apple platforms a task that is made afterwards ends the process.
    func finishTasksAndInvalidate()
}

/// The part of a task of URLSession that a transport calls.
protocol SessionTask: AnyObject, Sendable {
    /// The response as far as it is known, even if the session has not reported it.
    var response: URLResponse? { get }

    /// Describes the task for Instruments, and sets its priority. Foundation on Linux has no priorities.
    func describe(_ description: String?, _ priority: RequestPriority)
    func resume()
    func suspend()
    func cancel()
}

extension URLSession: SessionDriver {
    func makeTask(_ request: URLRequest, isStreamed: Bool) -> any SessionTask {
        isStreamed ? uploadTask(withStreamedRequest: request) : dataTask(with: request)
    }
}

extension URLSessionTask: SessionTask {
    func describe(_ description: String?, _ priority: RequestPriority) {
        taskDescription = description
        #if !canImport(FoundationNetworking)
        self.priority = priority.taskPriority
        #endif
    }
}

/// The URLSessions below a transport: the system's, or those of a test.
struct SessionSource: Sendable {
    /// The implementation of URLSession that the sessions behave like.
    var system = URLSessionSystem.current
    /// The application's closure about certificates.
    var onServerTrust: TrustAnswer = nil
    /// Makes a session that reports its events to an `ExchangeSession`.
    var makeDriver: @Sendable (URLSessionConfiguration, ExchangeSession) -> any SessionDriver = { configuration, events in
        #if canImport(FoundationNetworking)
        let delegateQueue = DelegateQueue()
        #else
        let delegateQueue = OperationQueue()
        delegateQueue.maxConcurrentOperationCount = 1
        #endif
        return URLSession(configuration: configuration, delegate: SessionDelegate(events), delegateQueue: delegateQueue)
    }
    /// The most bytes of a response that are stored in a file. On Linux the server cannot be slowed down, and on Apple platforms a
    /// suspended task receives bytes for some time.
    var spillLimit: Int64 = 1 << 30
    /// Runs a closure on the start queue after a time.
    var schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { delay, body in
        ExchangeSession.startQueue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
    }
}
