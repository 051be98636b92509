import Foundation
import NessHTTP
import NessLock

/// A transport that replays an archive, such as one that a `RecordingTransport` or a browser wrote. It needs no network.
///
/// A request matches an exchange with the same method, URL and body. An exchange whose body was not recorded matches any body. Each
/// exchange serves one request, in the order of the archive. When all matching exchanges are used, the last one is replayed again.
///
/// Secrets do not count in the comparison: both sides are compared as the recorder writes them. JSON is compared by its values. A request
/// without a matching exchange fails with `UnmatchedRequest`, and never reaches a network. One whose response lost its body in the
/// recording fails with `MockTransportError.invalidReply`.
public final class ReplayTransport: Transport {
    private let archive: HTTPArchive
    private let repeatsLast: Bool
    private let clock: PipelineClock
    private let used = Lock<Set<Int>>([])

    /// Makes a transport that replays an archive.
    /// - Parameters:
    ///   - archive: The exchanges.
    ///   - repeatsLast: True if the last matching exchange is replayed again once all are used. Otherwise such a request fails with
    ///     `UnmatchedRequest`.
    public init(_ archive: HTTPArchive, repeatsLast: Bool = true) {
        self.archive = archive
        self.repeatsLast = repeatsLast
        clock = PipelineClock(ContinuousClock())
    }

    /// Makes a transport that replays a HAR file.
    /// - Parameters:
    ///   - file: The file.
    ///   - repeatsLast: True if the last matching exchange is replayed again once all are used. Otherwise such a request fails with
    ///     `UnmatchedRequest`.
    /// - Throws: Foundation's error if the file cannot be read; `DecodingError` if it is not a HAR file.
    public convenience init(contentsOf file: URL, repeatsLast: Bool = true) throws {
        self.init(try HTTPArchive(contentsOf: file), repeatsLast: repeatsLast)
    }

    /// The exchanges that have not been replayed, in order.
    public var unusedEntries: [HTTPArchive.Entry] {
        let used = used.withLock { $0 }
        return archive.entries.indices.filter { !used.contains($0) }.map { archive.entries[$0] }
    }

    /// All, because no server is involved.
    public var tlsCapabilities: TLSCapabilities { .all }

    /// Replays the response to a request.
    /// - Throws: `UnmatchedRequest`, `MockTransportError`, the recorded `TransportError`, the error of `receive`, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) async throws -> Void) async throws {
        try Task.checkCancellation()
        let reply = try choose(request).reply(to: request)
        try await MockExchange(request: request, clock: clock, receive: receive).run { reply }
    }

    private func choose(_ request: HTTPRequest) throws -> HTTPArchive.Response {
        let redactor = request.redactor
        let url = redactor.identity(ofURL: request.url.absoluteString)
        let body = request.recordedBody(by: redactor)
        let matching = archive.entries.indices.filter { index in
            let recorded = archive.entries[index].request
            return recorded.method == request.method.rawValue && redactor.identity(ofURL: recorded.url) == url
                && redactor.matches(recorded.body, body)
        }
        let chosen = used.withLock { used in
            let chosen = matching.first { !used.contains($0) } ?? (repeatsLast ? matching.last : nil)
            if let chosen { used.insert(chosen) }
            return chosen
        }
        guard let chosen else {
            let used = used.withLock { $0 }
            let known = archive.entries.enumerated().map { index, entry in
                "\(entry.request.method) \(redactor.redacted(urlText: entry.request.url))\(used.contains(index) ? " (used up)" : "")"
            }
            throw UnmatchedRequest(request: request, routes: known, nearest: [], others: known)
        }
        return archive.entries[chosen].response
    }
}

extension Redactor {
    /// True if a request's body equals the recorded one, or if the recorder left the body out.
    fileprivate func matches(_ recorded: HTTPArchive.Content?, _ body: HTTPArchive.Content?) -> Bool {
        guard let recorded else { return body?.data?.isEmpty ?? (body == nil) }
        guard let data = recorded.data else { return true }
        // An archive of another program may contain text that is secret by this request's names.
        let mine = body?.data, theirs = self.recorded(data, contentType: recorded.mimeType).data
        if mine ?? Data() == theirs { return true }
        guard let mine, let theirs, let left = try? JSONValue(parsing: mine), let right = try? JSONValue(parsing: theirs) else {
            return false
        }
        return left == right
    }
}

extension HTTPArchive.Response {
    /// Returns the reply that repeats this response.
    /// - Throws: `MockTransportError.invalidReply` if its body was not recorded.
    fileprivate func reply(to request: HTTPRequest) throws -> Reply {
        guard status != 0 else {
            let kind = TransportError.Kind.allCases.first { "\($0)" == error } ?? .connectionLost
            return .failure(TransportError(kind, "no response was recorded\(error.map { ": \($0.oneLine)" } ?? "")"))
        }
        var fields = HTTPHeaders()
        for pair in self.headers where !pair.name.hasPrefix(":") { fields.add(pair.value, for: pair.name) }
        // These fields describe the encoded body. The archive stores the decoded body.
        for name in ["Content-Encoding", "Transfer-Encoding"] { fields.remove(name) }
        let isHead = request.method == .head
        if !isHead { fields.remove("Content-Length") }
        guard let content = isHead || ReplyEncoder.forbidsBody(status) ? Data() : body.data else {
            throw MockTransportError.invalidReply("the body of the response to \(request) was not recorded")
        }
        return Reply(content: .full(status: status, headers: fields, body: content))
    }
}
