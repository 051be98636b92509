import Foundation
import NessHTTP
import NessTesting

extension ConformanceFault {
    /// Returns success for errors of a kind, if the head of the response meets a condition.
    private static func ignoring(
        _ name: String, _ kinds: [TransportError.Kind], fails: [TransportConformance.ID],
        when isIgnored: @escaping @Sendable (HTTPHeaders?) -> Bool
    ) -> ConformanceFault {
        .errors(name, fails: fails) { error, headers in
            guard let kind = (error as? TransportError)?.kind, kinds.contains(kind), isIgnored(headers) else { return error }
            return nil
        }
    }

    /// Faults in the framing of a response.
    static let ends: [ConformanceFault] = [
        .ignoring(
            "accepts a body that is too short", [.truncated], fails: ["framing.truncated-by-length", "errors.seen", "errors.error-types"]
        ) {
            $0?.contains("Content-Length") == true && $0?.contains("Content-Encoding") == false
        },
        .ignoring("accepts a body without a last chunk", [.truncated], fails: ["framing.truncated-by-chunks"]) {
            $0?.contains("Transfer-Encoding") == true
        },
        .ignoring("accepts a truncated coding", [.truncated, .malformedResponse], fails: ["framing.truncated-coding"]) {
            $0?.contains("Content-Encoding") == true
        },
        .ignoring("accepts a reset as the end", [.connectionLost, .truncated], fails: ["framing.reset-without-length"]) {
            $0?.contains("Content-Type") == true && $0?.contains("Content-Length") == false
        },
        .ignoring(
            "accepts any answer as a response", [.malformedResponse],
            fails: ["framing.malformed-heads", "framing.malformed-lengths", "errors.seen", "errors.error-types"]
        ) { $0 == nil },
        .ignoring(
            "accepts a lost connection as a response", [.connectionLost],
            fails: [
                "framing.truncated-in-status-line", "framing.truncated-in-head", "errors.ended-before-head", "errors.reset-in-head",
                "errors.seen", "errors.error-types", "errors.tls-ended-in-handshake", "resends.once-on-fresh", "resends.twice-on-fresh",
            ]
        ) { $0 == nil },
        .errors("takes a close inside the head for its end", fails: ["framing.truncated-in-head"]) { error, headers in
            headers == nil && (error as? TransportError)?.reason.contains("inside the response's header") == true ? nil : error
        },
        .head("requires a length", fails: ["framing.ended-by-close", "framing.reset-without-length"]) { statusCode, headers in
            guard statusCode == 200, !headers.contains("Content-Length"), !headers.contains("Transfer-Encoding"), headers["X-A"] == nil
            else { return }
            throw TransportError(.malformedResponse, "there is no length")
        },
        .events("takes what follows for a part of the body", fails: ["framing.more-than-announced"]) { request, event in
            if case .body(let data) = event, data.starts(with: Data("next".utf8)) {
                [.body(Data("and more".utf8)), event]
            } else {
                [event]
            }
        },
        .afterHead("takes the length of a chunked body", fails: ["framing.length-and-chunks"]) { headers, event in
            guard case .body(let data) = event, headers.contains("Content-Length"), headers.contains("Transfer-Encoding") else {
                return [event]
            }
            return [.body(data.prefix(3))]
        },
        .afterHead("takes trailers for a part of the body", fails: ["framing.trailers"]) { headers, event in
            guard case .body(let data) = event, headers.contains("Transfer-Encoding"), data == Data("summed".utf8) else { return [event] }
            return [event, .body(Data("X-Sum: 1".utf8))]
        },
    ]

    /// Faults in the kinds of errors.
    static let errors: [ConformanceFault] = [
        .errors("reports refusals as lost connections", fails: ["errors.refused", "errors.no-such-host"]) { error, _ in
            (error as? TransportError)?.kind == .cannotConnect ? TransportError.connectionLost : error
        },
        .errors(
            "reports lost connections as refusals",
            fails: [
                "framing.truncated-in-status-line", "framing.truncated-in-head", "errors.ended-before-head", "errors.reset-in-head",
                "errors.seen",
                "resends.once-on-fresh", "resends.twice-on-fresh",
            ]
        ) { error, headers in
            (error as? TransportError)?.kind == .connectionLost && headers == nil ? TransportError.cannotConnect : error
        },
        .errors("reports TLS faults as refusals", fails: ["errors.tls-untrusted", "errors.tls-plain-server"]) { error, _ in
            (error as? TransportError)?.kind == .tls ? TransportError.cannotConnect : error
        },
        .errors(
            "reports other types of errors",
            fails: [
                "errors.error-types", "errors.seen", "framing.malformed-heads",
            ]
        ) { error, _ in
            (error as? TransportError)?.kind == .malformedResponse ? CocoaError(.featureUnsupported) : error
        },
        .errors("reports a reset inside the body as the end of the body", fails: ["errors.reset-in-body"]) { error, headers in
            (error as? TransportError)?.kind == .connectionLost && headers != nil ? TransportError.truncated : error
        },
        .errors("reports a lost handshake as a malformed response", fails: ["errors.tls-ended-in-handshake"]) { error, headers in
            guard let failure = error as? TransportError, failure.kind == .connectionLost, failure.isUnsent else { return error }
            return TransportError.malformedResponse
        },
    ]
}
