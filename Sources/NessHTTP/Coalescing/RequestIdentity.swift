import Foundation

/// The parts of a request that must be equal for two requests to share a flight.
///
/// It omits only parts that are known to make no difference. It includes the settings and options of the request, and what redirects depend
/// on.
final class RequestIdentity: Hashable, Sendable {
    /// A header field, with its name in lower case.
    private struct Line: Hashable, Sendable {
        let name: ExactText
        let value: ExactText
        /// True for a field that no redirect takes to another origin.
        let isSecret: Bool

        init(_ field: HTTPHeaders.Field, _ secrets: SecretNames) {
            (name, value) = (ExactText(field.name.asciiLowercased), ExactText(field.value))
            isSecret = secrets.containsHeader(field.name)
        }
    }

    private struct Parts: Hashable, Sendable {
        let kind: RequestKind
        let method: HTTPMethod
        let text: ExactText
        let headers: [Line]
        let body: [Data]
        let download: DownloadTarget?
        let downloadIdentifier: ExactText?
        let distinction: RequestDistinction
        /// `nil` to follow no redirect.
        let redirectLimit: Int?
        // These parts determine what a redirect removes: the jar's cookies, the environment's credential, and secret default headers.
        let ownCookies: ExactText?
        let credentialScope: URL?
        let baseURL: URL?
        let defaultHeaders: [Line]
    }

    /// The hash of the parts in which most requests differ. A server's requests for many users may differ in their header fields alone.
    /// Computed once, because the table of flights needs it several times.
    private let hash: Int
    private let parts: Parts
    /// The URL in its normal form.
    let target: ExactText

    /// Makes the identity of a request; `nil` for a request that equals no other.
    /// - Parameters:
    ///   - request: The request as it would be sent.
    ///   - kind: The kind of its result.
    ///   - download: The destination of a download; `nil` for any other kind.
    ///   - identifier: The identifier that makes requests equal; `nil` to compare method, URL, header fields and body.
    ///   - ignoredHeaders: The names, in lower case, of fields that are not compared, such as a trace identifier.
    ///   - environment: The environment of the call.
    ///   - credentialScope: The base URL for which the manager's credential is valid; `nil` if the manager added no credential.
    ///   - jarCookies: Tells which part of the `Cookie` field the request has set itself. `nil` if it has set all of the field.
    init?(
        _ request: HTTPRequest, of kind: RequestKind, to download: DownloadTarget?, identifiedBy identifier: String?,
        ignoring ignoredHeaders: Set<String>, in environment: ServerEnvironment, keepingCredentialInside credentialScope: URL?,
        besides jarCookies: JarCookies?
    ) {
        let redirectLimit: Int?
        switch request.redirects {
        case .follow(let limit): redirectLimit = limit
        case .stop: redirectLimit = nil
        // Closures cannot be compared.
        case .decide: return nil
        }
        guard let distinction = RequestDistinction(request) else { return nil }
        target = ExactText(request.normalizedURL)
        let (method, text, headers, body): (HTTPMethod, ExactText, [Line], [Data])
        if let identifier {
            // The secret fields still count, so that one user never gets the response to another user's request.
            headers = Self.lines(request.headers.filter { request.secrets.containsHeader($0.name) }, request.secrets)
            (method, text, body) = (.custom(""), ExactText(identifier), [])
        } else {
            guard let pieces = request.body.map(\.identity) ?? [] else { return nil }
            let fields = request.headers.filter { !ignoredHeaders.contains($0.name.asciiLowercased) }
            let others = request.body?.headers.filter { !ignoredHeaders.contains($0.name.asciiLowercased) } ?? []
            headers = Self.lines(fields + others, request.secrets)
            (method, text, body) = (request.method, target, pieces)
        }
        parts = Parts(
            kind: kind, method: method, text: text, headers: headers, body: body, download: download,
            downloadIdentifier: download?.identifier.map { ExactText($0) }, distinction: distinction, redirectLimit: redirectLimit,
            ownCookies: request.headers[HeaderName.cookie].flatMap { jarCookies?.callersField(in: $0) }.map { ExactText($0) },
            credentialScope: credentialScope, baseURL: environment.baseURL,
            defaultHeaders: Self.lines(environment.defaultHeaders.filter { request.secrets.containsHeader($0.name) }, request.secrets))
        var hasher = Hasher()
        hasher.combine(text)
        hasher.combine(headers)
        // Data hashes its start and its length alone, so a long body costs no more.
        hasher.combine(body)
        hash = hasher.finalize()
    }

    /// Returns fields in the order of their names. The values of one name stay in their order.
    private static func lines(_ fields: [HTTPHeaders.Field], _ secrets: SecretNames) -> [Line] {
        if fields.isEmpty { return [] }
        return fields.map { Line($0, secrets) }.sorted { $0.name < $1.name }
    }

    static func == (left: RequestIdentity, right: RequestIdentity) -> Bool {
        left === right || left.hash == right.hash && left.parts == right.parts
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
