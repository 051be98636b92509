import Foundation

/// The last stage: has the transport do its exchange and collects what comes.
struct Exchange: HTTPLoader {
    let transport: any Transport
    /// The most that a body may hold, counted after any content coding is removed; nil for no limit.
    let maximumBytes: Int?
    let running: RunningRequests

    func load(_ request: HTTPRequest, next: HTTPNext) async throws -> HTTPResponse {
        // A request that began before a reset sends nothing after it.
        try await running.work(request.epoch) { try await exchange(request) }
    }

    private func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.place?.enter() ?? true else { throw CancellationError() }
        defer { request.place?.leave() }
        var request = request
        request.body = try await request.body?.resolved()
        let collector = ResponseCollector(request, maximumBytes: maximumBytes)
        request.activity?.requestDidStart(attempt: request.attempt)
        if let length = request.body?.length { request.activity?.requestDidSend(bytes: 0, of: length) }
        do {
            try await (request[OwnTransport.self] ?? transport).send(request) { event in try collector.receive(event) }
        } catch var error as TransportError {
            error.response = collector.response
            throw error
        }
        return try collector.finish()
    }
}

/// A wire for one request alone, instead of the manager's. Such a request shares no exchange with others.
package enum OwnTransport: RequestOptionKey {
    package static let defaultValue: (any Transport)? = nil
}

/// Puts a response together and believes nothing: a body has to be as long as its header says.
private final class ResponseCollector: Sendable {
    private struct State: Sendable {
        var statusCode: Int?
        var headers = HTTPHeaders()
        var body = Data()
        /// How many bytes have come.
        var count: Int64 = 0
        var expected: Int64?
        /// Whether the request's sink takes the body.
        var isTaken = false
    }

    /// As responses hold it: without the sink, which may keep them.
    private let request: HTTPRequest
    private let sink: (any BodySink)?
    private let maximumBytes: Int?
    private let state = Lock(State())

    init(_ request: HTTPRequest, maximumBytes: Int?) {
        sink = request.sink
        var request = request
        request.sink = nil
        self.request = request
        self.maximumBytes = maximumBytes
    }

    /// What has come of the response; nil before its head.
    var response: HTTPResponse? {
        let state = state.withLock { $0 }
        return state.statusCode.map { HTTPResponse(statusCode: $0, headers: state.headers, body: state.body, request: request) }
    }

    func receive(_ event: TransportEvent) throws {
        switch event {
        case .sent(let bytes):
            request.activity?.requestDidSend(bytes: bytes, of: request.body?.length)
        case .head(let statusCode, let headers):
            let expected = try contentLength(statusCode, headers)
            let isTaken = try sink?.begin(HTTPResponse(statusCode: statusCode, headers: headers, request: request)) ?? false
            if !isTaken, let expected, let maximumBytes, expected > maximumBytes { throw tooLarge(statusCode, headers) }
            state.withLock { state in
                state.statusCode = statusCode
                state.headers = headers
                state.expected = expected
                state.isTaken = isTaken
            }
            report(0, expected, isTaken)
        case .body(let data):
            let (count, expected, isTaken) = try state.withLock { state in
                state.count += Int64(data.count)
                if state.isTaken { return (state.count, state.expected, true) }
                if let maximumBytes, state.count > maximumBytes { throw tooLarge(state.statusCode ?? 0, state.headers) }
                state.body.append(data)
                return (state.count, state.expected, false)
            }
            if isTaken { try sink?.write(data) }
            report(count, expected, isTaken)
        }
    }

    private func report(_ count: Int64, _ expected: Int64?, _ isTaken: Bool) {
        let (completed, total) = isTaken ? sink?.progress ?? (count, expected) : (count, expected)
        request.activity?.requestDidReceive(bytes: completed, of: total)
    }

    func finish() throws -> HTTPResponse {
        guard let response else { throw TransportError(.malformedResponse, "the server sent no response") }
        let (expected, count) = state.withLock { ($0.expected, $0.count) }
        if let expected, expected != count {
            throw NessError.truncated(
                NessError.Context(request: request, response: response, reason: "\(count) of \(expected) bytes of the body came"))
        }
        return response
    }

    /// How long the body has to be; nil where its length can't be known from the header.
    private func contentLength(_ statusCode: Int, _ headers: HTTPHeaders) throws -> Int64? {
        let hasNoBody = request.method == .head || statusCode == 204 || statusCode == 304 || statusCode < 200
        guard !hasNoBody, !headers.contains("transfer-encoding") else { return nil }
        guard let text = headers["content-length"] else { return nil }
        // What is counted is what came out of the decoder; the header counts what went in.
        let isCoded = headers["content-encoding"].map { !$0.equalsIgnoringCase("identity") } ?? false
        if let length = Self.number(text) { return isCoded ? nil : length }
        // Several equal values count as one (RFC 9110, 8.6); anything else is not a length.
        let values = Set(text.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } })
        guard values.count == 1, let value = values.first, let length = Self.number(value) else {
            throw TransportError(.malformedResponse, "the Content-Length is not a number")
        }
        return isCoded ? nil : length
    }

    private static func number(_ digits: String) -> Int64? {
        digits.utf8.allSatisfy { (48...57).contains($0) } ? Int64(digits) : nil
    }

    private func tooLarge(_ statusCode: Int, _ headers: HTTPHeaders) -> NessError {
        let response = HTTPResponse(statusCode: statusCode, headers: headers, request: request)
        let limit = maximumBytes ?? 0
        return .responseTooLarge(
            NessError.Context(request: request, response: response, reason: "the body is longer than the \(limit) bytes allowed"))
    }
}
