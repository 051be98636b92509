import Foundation
import NessHTTP

/// A transport that answers from an archive, such as one that a `RecordingTransport` or a browser wrote. No network is needed.
///
/// A request gets the answer of the first exchange with its method and URL, and its body unless that was left out, that was not given yet;
/// once all were given the last of them again. Secrets do not count: they are compared as the recorder writes them. JSON is
/// compared by its values. A request that none matches fails with `UnmatchedRequest`, and nothing goes on a wire.
public final class ReplayTransport: Transport {
    private let archive: HTTPArchive
    private let repeatsLast: Bool
    private let clock: Timekeeper
    private let used = Lock<Set<Int>>([])

    /// Makes a transport that answers from an archive.
    /// - Parameters:
    ///   - archive: The exchanges.
    ///   - repeatsLast: Whether an answer may be given again once all that match were given; if not, such a request fails, too.
    public init(_ archive: HTTPArchive, repeatsLast: Bool = true) {
        self.archive = archive
        self.repeatsLast = repeatsLast
        clock = Timekeeper(ContinuousClock())
    }

    /// Makes a transport that answers from a HAR file.
    /// - Parameters:
    ///   - file: The file.
    ///   - repeatsLast: Whether an answer may be given again once all that match were given; if not, such a request fails, too.
    /// - Throws: Foundation's error where it can't be read; `DecodingError` where it is no HAR file.
    public convenience init(contentsOf file: URL, repeatsLast: Bool = true) throws {
        self.init(try HTTPArchive(contentsOf: file), repeatsLast: repeatsLast)
    }

    /// The exchanges that no request has got an answer from, in order.
    public var unusedEntries: [HTTPArchive.Entry] {
        let used = used.withLock { $0 }
        return archive.entries.indices.filter { !used.contains($0) }.map { archive.entries[$0] }
    }

    /// Answers a request from the archive.
    /// - Throws: `UnmatchedRequest`, the `TransportError` that was recorded, what `receive` threw, or `CancellationError`.
    public func send(_ request: HTTPRequest, receive: @escaping @Sendable (TransportEvent) throws -> Void) async throws {
        try Task.checkCancellation()
        let reply = try choose(request).reply(to: request.method)
        try await MockExchange(request, clock: clock, receive: receive).run { reply }
    }

    private func choose(_ request: HTTPRequest) throws -> HTTPArchive.Response {
        let url = request.secrets.identity(ofURL: request.url.absoluteString)
        let body = request.recordedBody()
        let matching = archive.entries.indices.filter { index in
            let recorded = archive.entries[index].request
            return recorded.method == request.method.rawValue && request.secrets.identity(ofURL: recorded.url) == url
                && request.secrets.matches(recorded.body, body)
        }
        let chosen = used.withLock { used in
            let chosen = matching.first { !used.contains($0) } ?? (repeatsLast ? matching.last : nil)
            if let chosen { used.insert(chosen) }
            return chosen
        }
        guard let chosen else {
            let used = used.withLock { $0 }
            let known = archive.entries.enumerated().map { index, entry in
                "\(entry.request.method) \(request.secrets.redacted(urlText: entry.request.url))\(used.contains(index) ? " (used up)" : "")"
            }
            throw UnmatchedRequest(request: request, routes: known)
        }
        return archive.entries[chosen].response
    }
}

extension SecretNames {
    /// Whether a request's body is the one that was recorded; any is where it was left out.
    fileprivate func matches(_ recorded: HTTPArchive.Content?, _ body: HTTPArchive.Content?) -> Bool {
        guard let recorded else { return body?.data?.isEmpty ?? (body == nil) }
        guard let data = recorded.data else { return true }
        // Recorded by others it may hold what is secret to us.
        let mine = body?.data, theirs = self.recorded(data, contentType: recorded.mimeType).data
        if mine ?? Data() == theirs { return true }
        guard let mine, let theirs, let left = try? JSONValue(parsing: mine), let right = try? JSONValue(parsing: theirs) else {
            return false
        }
        return left == right
    }
}

extension HTTPArchive.Response {
    /// The reply that gives this response again.
    fileprivate func reply(to method: HTTPMethod) -> Reply {
        guard status != 0 else {
            let kind = TransportError.Kind.allCases.first { "\($0)" == error } ?? .connectionLost
            return .failure(TransportError(kind, "no response was recorded\(error.map { ": \($0.oneLine)" } ?? "")"))
        }
        var fields = HTTPHeaders()
        for pair in self.headers where !pair.name.hasPrefix(":") { fields.add(pair.value, for: pair.name) }
        // They tell of the body on its way; what was recorded is what came out of it.
        for name in ["Content-Encoding", "Transfer-Encoding"] { fields.remove(name) }
        if method != .head { fields.remove("Content-Length") }
        return Reply(content: .full(status: status, headers: fields, body: body.data ?? Data()))
    }
}
