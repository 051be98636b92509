import Foundation

/// What makes two requests equal.
struct RequestIdentity: Hashable {
    private let kind: RequestKind
    private let method: HTTPMethod
    private let url: String
    private let headers: [String: [String]]
    private let body: [Data]
    private let destination: String?
    private let redirects: Redirects

    private enum Redirects: Hashable {
        case stop
        case follow(limit: Int, allowsInsecure: Bool)
    }

    /// The identity of a request; nil for one that equals no other.
    /// - Parameters:
    ///   - request: The request as it would go on the wire.
    ///   - ignoredHeaders: Names, in lower case, of fields that do not count, such as a trace identifier.
    init?(_ request: HTTPRequest, ignoring ignoredHeaders: Set<String>) {
        // What is handed on as it comes can't be handed on twice.
        if request.kind == .stream { return nil }
        if request[OwnTransport.self] != nil { return nil }
        switch request.redirects {
        case .follow(let limit): redirects = .follow(limit: limit, allowsInsecure: request.allowsInsecureRedirects)
        case .stop: redirects = .stop
        // A closure equals no other.
        case .decide: return nil
        }
        kind = request.kind
        destination = request.download.map { "\($0)" }
        if let identifier = request.duplicateIdentifier {
            (method, url, headers, body) = (.custom(""), identifier, [:], [])
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

    /// The URL in its normal form (RFC 3986, 6.2).
    static func normalized(_ url: URL) -> String { ParsedURL(url).normalized }
}
