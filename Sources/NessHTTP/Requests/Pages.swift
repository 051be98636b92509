import Foundation

/// The pages of a list, one request for each: see `Ness.pages(of:next:)`.
///
/// Ness sends a request only when the loop asks for the next page. Leaving the loop ends the paging, and canceling its task also drops the
/// request in flight. Each loop starts with the first page.
public struct Pages<Page: Sendable>: AsyncSequence, Sendable {
    let first: RequestBuilder
    let next: NextPage<Page>
    let send: @Sendable (RequestBuilder) -> RequestPromise<Page>

    /// Makes an iterator that begins with the first page.
    public func makeAsyncIterator() -> ResponseSequence<Page>.Iterator {
        var reader = Reader(pages: self)
        return .init { try await reader.next()?.page }
    }

    /// The pages, each with its response: for the total number of items or a rate limit in its header fields, for example.
    ///
    /// ```swift
    /// let pages = ness.pages(
    ///     of: ness.get("users"), decoding: [User].self, next: .linkHeader)
    /// for try await (users, response) in pages.withResponses {
    ///     print(users.count, response.headers["X-RateLimit-Remaining"] ?? "")
    /// }
    /// ```
    public var withResponses: ResponseSequence<(page: Page, response: HTTPResponse)> {
        ResponseSequence {
            var reader = Reader(pages: self)
            return { try await reader.next() }
        }
    }

    /// Sends one request for each page.
    private struct Reader {
        private let pages: Pages
        /// The next request, or the error that ends the paging; `nil` after the last page.
        private var upcoming: Result<RequestBuilder, any Error>?
        /// The links that were followed so far. Without them, links that form a loop would be followed forever.
        private var followed: Set<String> = []

        init(pages: Pages) {
            self.pages = pages
            // All pages are those of the environment that the loop started with.
            upcoming = .success(pages.first.with { $0.environment = $0.environment ?? $0.sender.environment })
        }

        /// Sends the next request, and returns its page.
        /// - Returns: The page and its response; `nil` after the last page, and after an error was thrown.
        /// - Throws: The error of the request, or of the step to this page.
        mutating func next() async throws -> (page: Page, response: HTTPResponse)? {
            guard let request = try upcoming.take()?.get() else { return nil }
            let promise = pages.send(request)
            let page = try await promise.value
            guard let response = promise.response else { return nil }
            // An error of the next step must not cost this page.
            do {
                upcoming = try pages.next.find(page, response, request, &followed).map(Result.success)
            } catch {
                upcoming = .failure(error)
            }
            return (page, response)
        }
    }
}

/// The step from one page to the request of the next.
public struct NextPage<Page: Sendable>: Sendable {
    let find: @Sendable (Page, HTTPResponse, RequestBuilder, inout Set<String>) throws -> RequestBuilder?

    /// Follows the link with the relation type `next` in the field `Link` (RFC 8288). A page without such a link is the last.
    ///
    /// The next request differs from the first only in its URL, and has no duplicate identifier. If that URL has another origin, this
    /// request and all later ones lack credentials, secret header fields and the request's own loaders. The manager's loaders see every
    /// page. A target that is not a URL, leads from https to http or was followed before ends the paging with `NessError.Kind.validation`.
    public static var linkHeader: NextPage {
        NextPage { _, response, request, followed in
            guard let link = response.link(relation: "next") else { return nil }
            func refused(_ reason: String) -> NessError {
                let reason = "the link to the next page \(reason)"
                return NessError(.validation, NessError.Context(request: response.request, response: response, reason: reason))
            }
            guard let url = HTTPResponse.resolve(link.target, against: response.url), let scheme = url.scheme?.lowercased(),
                ["http", "https"].contains(scheme)
            else { throw refused("is not a URL") }
            let made = try request.build()
            if scheme == "http", response.url.scheme?.lowercased() == "https", !made.settings.allowsInsecureRedirects {
                throw refused("leads from https to http")
            }
            followed.insert(ParsedURL(response.url).normalized)
            guard followed.insert(ParsedURL(url).normalized).inserted else { throw refused("leads to an earlier page") }
            return request.following(url, madeAs: made)
        }
    }
}

extension RequestBuilder {
    /// Returns the same request for a URL that a server chose. Its credentials do not go to another origin.
    /// - Parameters:
    ///   - url: The URL.
    ///   - made: The request that this builder makes.
    fileprivate func following(_ url: URL, madeAs made: HTTPRequest) -> RequestBuilder {
        with { builder in
            (builder.url, builder.urlText, builder.query) = (.success(url), url.absoluteString, .success(URLQuery()))
            // Otherwise the pages of two loops would count as equal requests.
            builder.duplicateIdentifier = nil
            guard !url.hasSameOrigin(as: made.url) else { return }
            func removeSecrets(_ headers: inout HTTPHeaders) {
                for name in headers.map(\.name) where name.equalsIgnoringCase(HeaderName.host) || made.secrets.containsHeader(name) {
                    headers.remove(name)
                }
            }
            removeSecrets(&builder.headers)
            if case .success(var body?) = builder.body {
                removeSecrets(&body.headers)
                builder.body = .success(body)
            }
            // The server chose the URL, so neither the manager nor the request's loaders may add secrets to it again, nor to the URLs to
            // which its response leads.
            var environment = builder.environment ?? builder.sender.environment
            removeSecrets(&environment.defaultHeaders)
            environment.authentication = nil
            (builder.environment, builder.authentication) = (environment, .none)
            builder.overrides = builder.overrides.map { .adding(observers: $0.observers, to: nil) }
        }
    }
}
