import Foundation
import NessHTTP
import NessLock

/// A transport that forwards to another transport and records the exchanges, for replay by a `ReplayTransport`.
///
/// ```swift
/// let recorder = RecordingTransport(wrapping: URLSessionTransport())
/// let ness = Ness { $0.transport = recorder }
/// // … send requests …
/// try recorder.archive.write(to: file)
/// ```
///
/// Secrets are never recorded. They are header fields, parameters of URLs and forms, and members of JSON, recognized by the secret names of
/// the request, and each repetition of a secret that the request sent. Bytes that are not text are recorded as Base64. A body is left out
/// if a secret in it can't be found: one with several parts, a compressed one, or text of another kind that contains a secret name.
///
/// The recorder keeps every exchange that ends, in memory, for as long as the recorder lives. It does not keep an exchange that was
/// canceled, or that an error of `receive` ended.
public final class RecordingTransport: ControlledTransport {
    private struct State: Sendable {
        var count = 0
        var entries: [Int: HTTPArchive.Entry] = [:]
    }

    /// The part of an exchange that has arrived so far.
    private struct Seen: Sendable {
        var status = 0
        var headers = HTTPHeaders()
        var body = Data()
        var headAt: Duration?
        /// True if `receive` threw. Its error may be a `TransportError`, like that of a failed exchange.
        var isRefused = false

        /// Returns true if the body is as the server compressed it, so that secrets in it can't be found. The field stays where the body
        /// was unpacked.
        func isCompressed(for request: HTTPRequest, over transport: any Transport) -> Bool {
            if body.isEmpty || ContentCoding.codings(in: headers).isEmpty { return false }
            if !ContentCoding.isRemoved(from: status, headers, of: request, failsIfUnknown: false) { return true }
            // A mock unpacks nothing, but its replies may be what another transport has unpacked.
            return transport is MockTransport && String(data: body, encoding: .utf8) == nil
        }
    }

    private let wrapped: any Transport
    private let clock: PipelineClock
    private let now: @Sendable () -> Date
    private let state = Lock(State())

    /// Makes a recorder.
    /// - Parameters:
    ///   - wrapped: The transport that does the exchanges.
    ///   - clock: The clock that measures durations.
    ///   - now: Returns the current date, for the start of an exchange.
    public init(
        wrapping wrapped: any Transport, clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.wrapped = wrapped
        self.clock = PipelineClock(clock)
        self.now = now
    }

    /// The exchanges recorded so far, in the order in which they started.
    public var archive: HTTPArchive {
        HTTPArchive(entries: state.withLock { $0.entries }.sorted { $0.key < $1.key }.map(\.value))
    }

    /// True if the wrapped transport can leave the content coding of bodies in place.
    public var keepsContentCoding: Bool { wrapped.keepsContentCoding }

    /// True if the wrapped transport reports interim responses.
    public var reportsInterimResponses: Bool { wrapped.reportsInterimResponses }

    /// The route of the transport that sends the requests.
    public var route: String { wrapped.route }

    /// The value of the transport that sends the requests.
    public var tlsCapabilities: TLSCapabilities { wrapped.tlsCapabilities }

    package func proxy(of request: HTTPRequest) -> String? { wrapped.controlled.proxy(of: request) }

    /// Shuts the wrapped transport down.
    public func shutdown() async { await wrapped.shutdown() }

    /// Forwards the exchange to the wrapped transport, and records it.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try await send(request, under: nil, receive: receive)
    }

    /// False: the wrapped transport may ignore a cancellation.
    package var isStoppable: Bool { false }

    package var limitsConnecting: Bool { wrapped.controlled.limitsConnecting }

    package func send(
        _ request: HTTPRequest, under control: (any ExchangeControl)?, receive: @escaping @Sendable (TransportEvent) async throws -> Void
    ) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let date = now()
        let start = clock.elapsed()
        let seen = Lock(Seen())
        do {
            try await wrapped.controlled.send(request, under: control) { [clock] event in
                switch event {
                case .sent, .connection, .interim, .trailers: break
                case .head(let status, let headers):
                    let headAt = clock.elapsed()
                    seen.withLock { seen in (seen.status, seen.headers, seen.headAt) = (status, headers, headAt) }
                case .body(let data): seen.withLock { $0.body += data }
                }
                do {
                    try await receive(event)
                } catch {
                    seen.withLock { $0.isRefused = true }
                    throw error
                }
            }
        } catch let error as TransportError where !seen.withLock({ $0.isRefused }) {
            let failure = HTTPArchive.Response(error: "\(error.kind)")
            keep(number, request, failure, date, start: start, headAt: nil)
            throw error
        }
        // The caller of a canceled exchange never got this response.
        try Task.checkCancellation()
        let whole = seen.withLock { $0 }
        let redactor = request.redactor
        let body = redactor.recorded(
            whole.isCompressed(for: request, over: wrapped) ? nil : whole.body, contentType: whole.headers["content-type"])
        let response = HTTPArchive.Response(status: whole.status, headers: redactor.recorded(whole.headers), body: body)
        keep(number, request, response, date, start: start, headAt: whole.headAt)
    }

    private func keep(
        _ number: Int, _ request: HTTPRequest, _ response: HTTPArchive.Response, _ date: Date, start: Duration, headAt: Duration?
    ) {
        let end = clock.elapsed()
        let timings = HTTPArchive.Timings(
            wait: ((headAt ?? end) - start) / .milliseconds(1), receive: (end - (headAt ?? end)) / .milliseconds(1))
        let entry = HTTPArchive.Entry(
            date, time: timings.wait + timings.receive, request: request, response: response, timings: timings, by: request.redactor)
        state.withLock { $0.entries[number] = entry }
    }
}
