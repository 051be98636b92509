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
        .ignoring("accepts a body that is too short", [.truncated], fails: ["framing.truncated-by-length", "errors.seen"]) {
            $0?.contains("Content-Length") == true && $0?.contains("Content-Encoding") == false
        },
        .ignoring("accepts a body without a last chunk", [.truncated], fails: ["framing.truncated-by-chunks"]) {
            $0?.contains("Transfer-Encoding") == true
        },
        .ignoring("accepts a truncated coding", [.truncated, .malformedResponse], fails: ["framing.truncated-coding"]) {
            $0?.contains("Content-Encoding") == true
        },
        .ignoring(
            "accepts a lost connection as a response", [.connectionLost],
            fails: [
                "framing.truncated-in-head", "errors.seen", "errors.tls-ended-in-handshake", "resends.once-on-fresh",
                "resends.twice-on-fresh",
            ]
        ) { $0 == nil },
        .events("takes trailers for a part of the body", fails: ["framing.trailers"]) { _, event in
            guard case .body(let data) = event, data == Data("summed".utf8) else { return [event] }
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
            fails: ["framing.truncated-in-head", "errors.seen", "resends.once-on-fresh", "resends.twice-on-fresh"]
        ) { error, headers in
            (error as? TransportError)?.kind == .connectionLost && headers == nil ? TransportError.cannotConnect : error
        },
        .errors("reports TLS faults as refusals", fails: ["errors.tls-untrusted", "errors.tls-plain-server"]) { error, _ in
            (error as? TransportError)?.kind == .tls ? TransportError.cannotConnect : error
        },
        .errors("reports other types of errors", fails: ["errors.seen"]) { error, _ in
            (error as? TransportError)?.kind == .malformedResponse ? CocoaError(.featureUnsupported) : error
        },
        .errors("reports a lost handshake as a malformed response", fails: ["errors.tls-ended-in-handshake"]) { error, headers in
            let failure = error as? TransportError
            return failure?.kind == .connectionLost && failure?.repetition == .always ? TransportError.malformedResponse : error
        },
    ]
}
