// URLSession and the other parts of Foundation that only Apple's has. On Linux, URLSession is in FoundationNetworking.
// The SDK differs: its classes come from Objective-C, most of their initializers are not designated, and delegate methods are optional.
@_exported import Darwin
@_exported import Foundation

// MARK: requests and responses

public class NSURLRequest: NSObject, @unchecked Sendable {
    public enum CachePolicy: UInt, Sendable { case useProtocolCachePolicy = 0, reloadIgnoringLocalCacheData = 1 }
}

public struct URLRequest: Sendable, Hashable {
    public init(url: URL, cachePolicy: NSURLRequest.CachePolicy = .useProtocolCachePolicy, timeoutInterval: TimeInterval = 60) {
        fatalError()
    }
    public var url: URL?
    public var httpMethod: String?
    public var httpBody: Data?
    public var httpBodyStream: InputStream?
    public var allHTTPHeaderFields: [String: String]?
    public var timeoutInterval: TimeInterval
    public var httpShouldHandleCookies: Bool
    public var allowsCellularAccess: Bool
    public var allowsExpensiveNetworkAccess: Bool
    public var allowsConstrainedNetworkAccess: Bool
    public func value(forHTTPHeaderField name: String) -> String? { nil }
    public mutating func setValue(_ value: String?, forHTTPHeaderField name: String) {}
    public mutating func addValue(_ value: String, forHTTPHeaderField name: String) {}
}

public class URLResponse: NSObject, @unchecked Sendable {
    public var url: URL? { nil }
}

public class HTTPURLResponse: URLResponse, @unchecked Sendable {
    public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) {}
    public var statusCode: Int { 0 }
    public var allHeaderFields: [AnyHashable: Any] { [:] }
    public func value(forHTTPHeaderField name: String) -> String? { nil }
}

// MARK: sessions and tasks

public class URLCache: NSObject, @unchecked Sendable {}
public class HTTPCookieStorage: NSObject, @unchecked Sendable {
    public class var shared: HTTPCookieStorage { fatalError() }
    public var cookies: [HTTPCookie]? { nil }
}
public struct HTTPCookiePropertyKey: RawRepresentable, Hashable, Sendable {
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(rawValue: String) { self.rawValue = rawValue }
    public let rawValue: String
    public static let name = Self(""), value = Self(""), domain = Self(""), path = Self(""), expires = Self(""), secure = Self("")
}
public class HTTPCookie: NSObject, @unchecked Sendable {
    public init?(properties: [HTTPCookiePropertyKey: Any]) {}
    public class func cookies(withResponseHeaderFields headerFields: [String: String], for URL: URL) -> [HTTPCookie] { [] }
    public var name: String { "" }
    public var value: String { "" }
    public var domain: String { "" }
    public var path: String { "" }
    public var expiresDate: Date? { nil }
    public var isSessionOnly: Bool { false }
    public var isSecure: Bool { false }
    public var isHTTPOnly: Bool { false }
}
public class URLCredentialStorage: NSObject, @unchecked Sendable {
    public class var shared: URLCredentialStorage { fatalError() }
}

public class URLSessionConfiguration: NSObject, @unchecked Sendable {
    public class var ephemeral: URLSessionConfiguration { fatalError() }
    public var httpAdditionalHeaders: [AnyHashable: Any]?
    public var timeoutIntervalForRequest: TimeInterval = 0
    public var timeoutIntervalForResource: TimeInterval = 0
    public var httpMaximumConnectionsPerHost = 0
    public var requestCachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    public var urlCache: URLCache?
    public var urlCredentialStorage: URLCredentialStorage?
    public var httpCookieStorage: HTTPCookieStorage?
    public var httpShouldSetCookies = false
    public var waitsForConnectivity = false
    public var connectionProxyDictionary: [AnyHashable: Any]?
    public var protocolClasses: [AnyClass]?
    @available(macOS 15.4, iOS 18.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *)
    public var usesClassicLoadingMode: Bool {
        get { true }
        set {}
    }
}

public class URLSessionTask: NSObject, @unchecked Sendable {
    public var taskIdentifier: Int { 0 }
    public var taskDescription: String?
    public var priority: Float = 0
    public var response: URLResponse? { nil }
    public func resume() {}
    public func suspend() {}
    public func cancel() {}
}

public class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
public class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

public class URLSession: NSObject, @unchecked Sendable {
    public enum ResponseDisposition: Int, Sendable { case cancel, allow, becomeDownload, becomeStream }
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }
    public class var shared: URLSession { fatalError() }
    public init(configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?) {}
    public func data(for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil) async throws -> (Data, URLResponse) {
        fatalError()
    }
    public func data(from url: URL, delegate: (any URLSessionTaskDelegate)? = nil) async throws -> (Data, URLResponse) {
        fatalError()
    }
    public func dataTask(with request: URLRequest) -> URLSessionDataTask { fatalError() }
    public func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask { fatalError() }
    public func finishTasksAndInvalidate() {}
}

// MARK: delegates

// The methods are optional in the SDK. Here those that Ness has are required, so that one which nearly fits is an error. In the SDK, the
// one about informational responses is available from macOS 14, iOS 17, tvOS 17 and watchOS 10 on; a method of Ness may exist before.

public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
}

public protocol URLSessionTaskDelegate: URLSessionDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse)
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

// MARK: metrics

public class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    public enum ResourceFetchType: Int, Sendable { case unknown, networkLoad, serverPush, localCache }
    public var transactionMetrics: [URLSessionTaskTransactionMetrics] { [] }
}

public class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    public var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType { .unknown }
    public var domainLookupStartDate: Date? { nil }
    public var domainLookupEndDate: Date? { nil }
    public var connectStartDate: Date? { nil }
    public var connectEndDate: Date? { nil }
    public var secureConnectionStartDate: Date? { nil }
    public var secureConnectionEndDate: Date? { nil }
    public var requestStartDate: Date? { nil }
    public var requestEndDate: Date? { nil }
    public var responseStartDate: Date? { nil }
    public var networkProtocolName: String? { nil }
    public var isReusedConnection: Bool { false }
    public var localAddress: String? { nil }
    public var localPort: Int? { nil }
    public var remoteAddress: String? { nil }
    public var remotePort: Int? { nil }
}

// MARK: errors

extension URLError {
    public enum NetworkUnavailableReason: Int, Sendable { case cellular, expensive, constrained }
    public var networkUnavailableReason: NetworkUnavailableReason? { nil }
}

// MARK: challenges

// Not Sendable in the SDK.
public class SecTrust {}

@available(*, unavailable) extension SecTrust: @unchecked Sendable {}

public class URLCredential: NSObject, @unchecked Sendable {
    public convenience init(trust: SecTrust) { self.init() }
}

public class URLProtectionSpace: NSObject, @unchecked Sendable {
    public var host: String { "" }
    public var authenticationMethod: String { "" }
    public var serverTrust: SecTrust? { nil }
    public override func isProxy() -> Bool { false }
}

public class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    public var protectionSpace: URLProtectionSpace { fatalError() }
    public var failureResponse: URLResponse? { nil }
}

public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

// MARK: streams, memory, processes

public typealias CFWriteStream = OutputStream
public func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream!, _ queue: DispatchQueue!) {}

extension Stream {
    public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: UnsafeMutablePointer<InputStream?>?, outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {}
}

public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }

// Sendable in Foundation on Linux, but not in the SDK.
#if os(macOS)
public class Process: NSObject {
    public enum TerminationReason: Int, Sendable { case exit = 1, uncaughtSignal }
    public var executableURL: URL?
    public var arguments: [String]?
    public var environment: [String: String]?
    public var standardInput: Any?
    public var standardOutput: Any?
    public var standardError: Any?
    public var terminationHandler: (@Sendable (Process) -> Void)?
    public var isRunning: Bool { false }
    public var processIdentifier: Int32 { 0 }
    public var terminationReason: TerminationReason { .exit }
    public var terminationStatus: Int32 { 0 }
    public func run() throws {}
    public func interrupt() {}
    public func terminate() {}
}

@available(*, unavailable) extension Process: @unchecked Sendable {}
#else
@available(*, unavailable) public class Process: NSObject {}
#endif

// MARK: activities

#if os(macOS)
extension ProcessInfo {
    public struct ActivityOptions: OptionSet, Sendable {
        public static let userInitiatedAllowingIdleSystemSleep = ActivityOptions(rawValue: 1)
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }
    }
    public func beginActivity(options: ActivityOptions, reason: String) -> any NSObjectProtocol { fatalError() }
    public func endActivity(_ activity: any NSObjectProtocol) {}
}
#endif
