import Foundation

/// The parts of a request that equal requests have in common.
final class RequestIdentity: Hashable, Sendable {
    /// A header field, with its name in lower case.
    private struct Line: Hashable, Sendable {
        let name: ExactText
        let value: ExactText

        init(_ field: HTTPHeaders.Field) { (name, value) = (ExactText(field.name.asciiLowercased), ExactText(field.value)) }
    }

    /// The hash of what distinguishes most requests: a server's requests for many users differ in their header fields alone. Computed once,
    /// because the table of flights needs it several times.
    private let hash: Int
    private let kind: RequestKind
    private let method: HTTPMethod
    private let text: ExactText
    private let headers: [Line]
    private let body: [Data]
    private let destination: ExactText?
    private let redirects: Redirects
    private let maximumBytes: Int?
    private let bypassesCookies: Bool
    private let bypassesThrottle: Bool
    /// The resend after a stale 408 depends on it. `nil` for requests that declare equality: the one that is sent decides.
    private let isIdempotent: Bool?
    private let keepsContentCoding: Bool
    private let networks: Networks
    /// The URL in its normal form.
    let target: ExactText

    private enum Redirects: Hashable, Sendable {
        case stop
        case follow(limit: Int, allowsInsecure: Bool)
    }

    /// The networks that a request may use: one that may use all must not fail with one that may not.
    private struct Networks: Hashable, Sendable {
        let cellular: Bool
        let expensive: Bool
        let constrained: Bool

        init(_ request: HTTPRequest) {
            cellular = request[AllowsCellularAccess.self]
            expensive = request[AllowsExpensiveNetworkAccess.self]
            constrained = request[AllowsConstrainedNetworkAccess.self]
        }
    }

    /// Makes the identity of a request; `nil` for a request that equals no other.
    /// - Parameters:
    ///   - request: The request as it would be sent.
    ///   - context: The context of the request.
    ///   - ignoredHeaders: The names, in lower case, of fields that are not compared, such as a trace identifier.
    init?(_ request: HTTPRequest, in context: CallContext, ignoring ignoredHeaders: Set<String>) {
        // A stream passes each piece of the body to its one reader, and keeps none for another.
        if context.options.kind == .stream || context.transport != nil { return nil }
        switch request.redirects {
        case .follow(let limit): redirects = .follow(limit: limit, allowsInsecure: request.allowsInsecureRedirects)
        case .stop: redirects = .stop
        // Closures cannot be compared.
        case .decide: return nil
        }
        maximumBytes = request[MaximumResponseBytes.self]
        bypassesCookies = request[BypassesCookies.self]
        bypassesThrottle = request[BypassesThrottle.self]
        keepsContentCoding = request[KeepsContentCoding.self]
        networks = Networks(request)
        kind = context.options.kind
        destination = context.options.download.map { ExactText("\($0)") }
        target = ExactText(request.normalizedURL)
        if let identifier = context.options.duplicateIdentifier {
            // The secret fields still count, so that one user never gets the response to another user's request.
            headers = Self.lines(request.headers.filter { request.secrets.containsHeader($0.name) })
            (method, text, body, isIdempotent) = (.custom(""), ExactText(identifier), [], nil)
        } else {
            guard let body = request.body.map(\.identity) ?? [] else { return nil }
            let fields = request.headers.filter { !ignoredHeaders.contains($0.name.asciiLowercased) }
            let others = request.body?.headers.filter { !ignoredHeaders.contains($0.name.asciiLowercased) } ?? []
            headers = Self.lines(fields + others)
            (method, text, self.body, isIdempotent) = (request.method, target, body, request.isIdempotent)
        }
        var hasher = Hasher()
        hasher.combine(text)
        hasher.combine(headers)
        // Data hashes its start and its length alone, so a long body costs no more.
        hasher.combine(self.body)
        hash = hasher.finalize()
    }

    /// Returns fields in the order of their names. The values of one name stay in their order.
    private static func lines(_ fields: [HTTPHeaders.Field]) -> [Line] {
        if fields.isEmpty { return [] }
        return fields.map(Line.init).sorted { $0.name < $1.name }
    }

    static func == (left: RequestIdentity, right: RequestIdentity) -> Bool {
        if left === right { return true }
        return left.hash == right.hash && left.kind == right.kind && left.method == right.method && left.text == right.text
            && left.headers == right.headers && left.body == right.body && left.destination == right.destination
            && left.redirects == right.redirects && left.maximumBytes == right.maximumBytes
            && left.bypassesCookies == right.bypassesCookies && left.bypassesThrottle == right.bypassesThrottle
            && left.isIdempotent == right.isIdempotent && left.networks == right.networks
            && left.keepsContentCoding == right.keepsContentCoding
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
