import Foundation
import NessLock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The sessions of a transport: one for most requests, and one for each origin with demands on its certificate.
final class SessionPool: Sendable {
    private struct Key: Hashable {
        let demands: TLSDemands
        /// `nil` if the demands are not about the server.
        let origin: ParsedURL.Origin?
    }

    /// The time without a request after which the URLSession of an origin with demands ends.
    static let idleLimit = Duration.seconds(300)

    let source: SessionSource
    private let open = OpenSessions()
    private let shared: ExchangeSession
    /// The sessions of requests with demands. URLSession asks about certificates when it opens a connection. A connection that was opened
    /// without the demands, or for another host on the same HTTP/2 server, must not carry such a request. An entry outlives its URLSession:
    /// it is small then, and remembers that a certificate was checked.
    private let demanding = Lock<[Key: ExchangeSession]>([:])

    init(_ source: SessionSource) {
        self.source = source
        shared = ExchangeSession(source, open: open)
    }

    /// The session for a request.
    /// - Parameters:
    ///   - request: The request.
    ///   - isOwn: True if it needs a session that no other request uses.
    func session(for request: HTTPRequest, isOwn: Bool) -> ExchangeSession {
        guard let demands = request.tlsDemands, source.system == .apple else {
            return isOwn ? ExchangeSession(source, open: open) : shared
        }
        // Each origin has a session. With a shared one, the second of two hosts of one HTTP/2 server would cause no challenge.
        let key = Key(demands: demands, origin: demands.concernServer ? request.origin : nil)
        return demanding.withLock { known in
            if let session = known[key] { return session }
            let session = ExchangeSession(source, demands: demands, idleLimit: Self.idleLimit, open: open)
            known[key] = session
            return session
        }
    }

    /// Rejects new requests, and ends all sessions after the running ones.
    func finish() {
        shared.finish()
        for session in demanding.withLock({ Array($0.values) }) { session.finish() }
    }

    /// Rejects new requests, and waits for the end of the sessions, but at most for five seconds: URLSession never reports the end of a
    /// task that it has lost.
    func shutdown() async {
        open.close()
        finish()
        await open.waitUntilNone(atMost: .seconds(5))
    }
}
