import Foundation

/// The parts of a request that equal requests have in common.
struct RequestIdentity: Hashable, Sendable {
    private let kind: RequestKind
    private let method: HTTPMethod
    private let url: String
    private let headers: [String: [String]]
    private let body: [Data]
    private let destination: String?
    private let redirects: Redirects
    private let maximumBytes: Int?
    private let bypassesCookies: Bool

    private enum Redirects: Hashable, Sendable {
        case stop
        case follow(limit: Int, allowsInsecure: Bool)
    }

    /// Makes the identity of a request; `nil` for a request that equals no other.
    /// - Parameters:
    ///   - request: The request as it would go on the wire.
    ///   - context: The context of the request.
    ///   - ignoredHeaders: The names, in lower case, of fields that are not compared, such as a trace identifier.
    init?(_ request: HTTPRequest, in context: CallContext, ignoring ignoredHeaders: Set<String>) {
        // A stream passes each piece of the body to its one reader, and keeps none for another.
        if context.call.choices.kind == .stream { return nil }
        if request[OwnTransport.self] != nil { return nil }
        switch request.redirects {
        case .follow(let limit): redirects = .follow(limit: limit, allowsInsecure: request.allowsInsecureRedirects)
        case .stop: redirects = .stop
        // Closures cannot be compared.
        case .decide: return nil
        }
        maximumBytes = request[MaximumResponseBytes.self]
        bypassesCookies = request[BypassesCookies.self]
        kind = context.call.choices.kind
        destination = context.call.choices.download.map { "\($0)" }
        if let identifier = context.call.choices.duplicateIdentifier {
            // The secret fields still count, so that one user never gets the response to another user's request.
            let secrets = request.headers.filter { request.secrets.containsHeader($0.name) }
            headers = Dictionary(grouping: secrets) { $0.name.lowercased() }.mapValues { $0.map(\.value) }
            (method, url, body) = (.custom(""), identifier, [])
            return
        }
        method = request.method
        url = Self.normalized(request.url)
        var headers: [String: [String]] = [:]
        for field in request.headers + (request.body?.headers.fields ?? []) {
            let name = field.name.lowercased()
            if !ignoredHeaders.contains(name) { headers[name, default: []].append(field.value) }
        }
        self.headers = headers
        guard let body = request.body.map(\.identity) ?? [] else { return nil }
        self.body = body
    }

    /// Returns the URL in its normal form (RFC 3986, section 6.2).
    static func normalized(_ url: URL) -> String { ParsedURL(url).normalized }
}
