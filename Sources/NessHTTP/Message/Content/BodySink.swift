import Foundation

/// Takes the body of the final response while it arrives, instead of collecting it in memory.
package protocol BodySink: AnyObject, Sendable {
    /// True while another attempt is possible. False once the sink has passed bytes to a reader.
    var isRestartable: Bool { get }
    /// Called before a request is sent. The sink may take the body of its response.
    /// - Parameter redirects: The redirects of this attempt that led to the request, oldest first.
    func willTakeBody(after redirects: [HTTPResponse])
    /// Returns a request with the changes that the sink needs, such as header fields. Each request of an attempt is passed to this method,
    /// even one that a redirect decision made.
    func adapted(_ request: HTTPRequest) throws -> HTTPRequest
    /// Runs the wait of the request in a queue.
    func during(wait: () async throws -> Void) async rethrows
    /// Called when the request has left all queues, just before it is sent.
    /// - Throws: The error that ends the exchange.
    func willSend() async throws
    /// Decides from a response's head whether to take its body. A body that the sink does not take, such as a redirect's, is collected in
    /// memory.
    /// - Parameters:
    ///   - response: The response, without a body.
    ///   - validators: The caller's validators. The sink runs them on the head before it takes a byte.
    /// - Returns: True if the sink takes the body.
    /// - Throws: The error that ends the exchange. After `NessError.Kind.validation` the start of the body is collected for the error.
    func begin(_ response: HTTPResponse, judgedBy validators: [any ResponseValidator]) async throws -> Bool
    /// Takes the next bytes of the body. Returns when the sink has room for more, which holds the server back. Calls are in order and never
    /// overlap.
    /// - Throws: The error that ends the exchange; `CancellationError` if the task is canceled.
    func write(_ data: Data) async throws
    /// Called once, from any thread, when the call has ended, and with it the body.
    func callDidEnd(_ outcome: Result<HTTPResponse, any Error>)
    /// Called when the sink has taken the whole body.
    func didTakeBody()
    /// The number of bytes taken so far, and the final number, or `nil` if that is unknown. `nil` for a sink that takes all bytes as they
    /// arrive: the received bytes then count.
    var progress: (completed: Int64, total: Int64?)? { get }
    /// Reports the progress, if there is one. Reports of the same body never overlap, and never decrease.
    /// - Parameter report: Takes the number of bytes taken so far, and the final number, or `nil` if that is unknown.
    func reportProgress(to report: @escaping @Sendable (Int64, Int64?) -> Void)
}

extension BodySink {
    /// Does nothing: suits a sink that does not publish the head.
    package func willTakeBody(after redirects: [HTTPResponse]) {}
    /// Changes nothing: suits a sink that takes any body.
    package func adapted(_ request: HTTPRequest) throws -> HTTPRequest { request }
    /// Waits: suits a sink that holds no file.
    package func during(wait: () async throws -> Void) async rethrows { try await wait() }
    /// Does nothing: suits a sink that holds no file.
    package func willSend() async throws {}
    /// Does nothing: suits a sink that ends with its exchange.
    package func callDidEnd(_ outcome: Result<HTTPResponse, any Error>) {}
    /// Does nothing: suits a sink without a progress.
    package func reportProgress(to report: @escaping @Sendable (Int64, Int64?) -> Void) {}
    /// Does nothing: suits a sink that fails with its exchange.
    package func didTakeBody() {}
}
