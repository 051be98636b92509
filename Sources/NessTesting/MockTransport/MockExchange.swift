import Foundation
import NessHTTP

/// One exchange of a mock. It reports the events that a transport reports when a server sends the reply.
struct MockExchange: Sendable {
    let request: HTTPRequest
    let clock: PipelineClock
    let receive: @Sendable (TransportEvent) async throws -> Void

    /// Runs the exchange. Events are reported from the calling task, so none is reported after its cancellation.
    func run(_ makeReply: @escaping @Sendable () async throws -> Reply) async throws {
        if let count = request.body?.length, count > 0 { try await report(.sent(count)) }
        // The promise is dropped on cancellation, so a handler or a clock that ignores cancellation cannot delay the caller.
        let promise = Promise { [clock] in
            let reply = try await makeReply()
            if reply.delay > .zero { try await clock.sleep(reply.delay) }
            return reply
        }
        let reply: Reply
        do {
            reply = try await promise.value
        } catch {
            try Task.checkCancellation()
            throw error
        }
        try await give(reply)
    }

    private func give(_ reply: Reply) async throws {
        switch reply.content {
        case .full(let status, let headers, let body): try await respond(status, headers, length: body.count, [body])
        case .chunked(let status, let headers, let pieces, let trailers):
            try await respond(status, headers, length: nil, pieces)
            if !trailers.isEmpty { try await report(.trailers(trailers)) }
        case .failure(let error): throw error
        case .script:
            throw MockTransportError.invalidReply("a script needs a connection, which a TestServer has, and a route with misbehaving:")
        }
    }

    private func respond(_ status: Int, _ headers: HTTPHeaders, length: Int?, _ pieces: [Data]) async throws {
        guard (200...999).contains(status) else {
            throw MockTransportError.invalidReply("\(status) is not the status of a final response")
        }
        let isHead = request.method == .head
        let framed = ReplyEncoder.framed(headers, status: status, isHead: isHead, length: length)
        try await report(.head(statusCode: status, headers: framed))
        if isHead || ReplyEncoder.forbidsBody(status) { return }
        for piece in pieces where !piece.isEmpty { try await report(.body(piece)) }
    }

    private func report(_ event: TransportEvent) async throws {
        try Task.checkCancellation()
        try await receive(event)
    }
}

extension ReceivedRequest {
    /// A request as a server would have received it, apart from the fields that belong to a connection, such as `Host`.
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The bytes of its body.
    ///   - number: The number of the request, counted from 1.
    init(mocked request: HTTPRequest, body: Data, number: Int) {
        let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
        let path = parts?.percentEncodedPath ?? ""
        let query = parts?.percentEncodedQuery.map { "?\($0)" } ?? ""
        var headers = request.headers
        for field in request.body?.headers ?? [:] where !request.headers.contains(field.name) { headers.add(field.value, for: field.name) }
        self.init(
            method: request.method, target: (path.isEmpty ? "/" : path) + query, headers: headers, body: body, number: number,
            requestNumberOnConnection: number, givenURL: request.url)
    }
}
