import HTTPTypes
import NessHTTP

/// A response that the proxy itself gives, because it has none of the upstream.
struct Refusal: Error {
    var status: Int
    var retryAfter: Duration?
    /// True if the rest of the client's body is not read, so that the connection has to be closed.
    var closesConnection = false

    /// Makes the rejection of a request that is invalid, or must not be forwarded further.
    init(_ status: Int) {
        self.status = status
        // Nothing is known about what follows an invalid head (RFC 9112, 9.2).
        closesConnection = status == 400 || status == 501
    }

    /// Maps an error to a status (RFC 9110, section 15).
    init(_ error: NessError) {
        status =
            switch error.kind {
            // The client's body stalled or was too slow, and not the upstream.
            case .timedOut where error.underlying is StalledBody: 408
            case _ where error.underlying is SlowBody: 408
            case .timedOut, .notCached: 504
            case .circuitOpen, .dropped: 503
            case .offline, .cannotConnect, .addressRejected, .tls, .connectionLost, .truncated, .malformedResponse, .responseTooLarge: 502
            // The target, a field or the body is invalid, or the client's connection broke inside the body.
            case .invalidRequest: 400
            // The proxy uses none of the features that fail like the other kinds.
            default: 500
            }
        retryAfter = error.retryAfter
        closesConnection = status == 408 || status == 400
    }

    /// The head of the response, which has no body.
    var head: HTTPTypes.HTTPResponse {
        var head = HTTPTypes.HTTPResponse(status: .init(code: status), headerFields: [.contentLength: "0"])
        // Whole seconds, rounded up.
        if let retryAfter {
            head.headerFields[.retryAfter] = "\(retryAfter.components.seconds + (retryAfter.components.attoseconds > 0 ? 1 : 0))"
        }
        if closesConnection { head.headerFields[.connection] = "close" }
        return head
    }
}

/// Ends the connection to the client after what was written so far.
struct ClosesConnection: Error {}
