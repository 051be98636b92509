extension Ness {
    /// Requests a list page by page, and delivers each response.
    ///
    /// ```swift
    /// for try await page in ness.pages(of: ness.get("repos"), next: .linkHeader) {
    ///     print(page.message.text)
    /// }
    /// ```
    /// - Parameters:
    ///   - request: The request of the first page. The manager that made it sends all pages. Each response must
    ///     have a 2xx status, and its validators must accept it.
    ///   - next: The step to the next page.
    /// - Returns: The responses, as a sequence. It throws the error of the first page that fails.
    public func pages(
        of request: RequestBuilder, next: NextPage<DataResult>
    ) -> Pages<DataResult> {
        Pages(first: request.validate(statusCodes: 200..<300), next: next) { $0.dataRequest() }
    }

    /// Requests a list page by page, and decodes each page as JSON.
    /// - Parameters:
    ///   - request: The request of the first page. The manager that made it sends all pages.
    ///   - type: The type of a page: see `RequestBuilder.dataRequest(decoding:)`.
    ///   - next: The step to the next page.
    /// - Returns: The pages, as a sequence. It throws the error of the first page that fails.
    public func pages<Page: Decodable & Sendable>(
        of request: RequestBuilder, decoding type: Page.Type, next: NextPage<Page>
    ) -> Pages<Page> {
        Pages(first: request, next: next) { $0.dataRequest(decoding: type) }
    }

    /// Requests a list page by page, and decodes each page as JSON. A closure makes the next request from each page.
    ///
    /// ```swift
    /// let list = ness.get("users")
    /// let pages = ness.pages(of: list, decoding: UserPage.self) { page, request in
    ///     page.cursor.map {
    ///         request.set(urlParameters: ["cursor": $0])
    ///     }
    /// }
    /// for try await page in pages { print(page.users) }
    /// ```
    /// - Parameters:
    ///   - request: The request of the first page. The manager that made it sends all pages.
    ///   - type: The type of a page: see `RequestBuilder.dataRequest(decoding:)`.
    ///   - next: Takes a page and its request, and returns the request of the next page; `nil` after the last page. An error that it throws
    ///     ends the paging after that page. Runs off the main thread, in the loop's task.
    /// - Returns: The pages, as a sequence. It throws the error of the first page that fails.
    public func pages<Page: Decodable & Sendable>(
        of request: RequestBuilder, decoding type: Page.Type,
        next: @escaping @Sendable (Page, RequestBuilder) throws -> RequestBuilder?
    ) -> Pages<Page> {
        pages(of: request, decoding: type, next: NextPage { page, _, request, _ in try next(page, request) })
    }

    /// Requests a list page by page, and delivers each response. A closure makes the next request from each response.
    /// - Parameters:
    ///   - request: The request of the first page. The manager that made it sends all pages. Each response must
    ///     have a 2xx status, and its validators must accept it.
    ///   - next: Takes a response and its request, and returns the request of the next page; `nil` after the last page. An error that it
    ///     throws ends the paging after that page. Runs off the main thread, in the loop's task.
    /// - Returns: The responses, as a sequence. It throws the error of the first page that fails.
    public func pages(
        of request: RequestBuilder,
        next: @escaping @Sendable (DataResult, RequestBuilder) throws -> RequestBuilder?
    ) -> Pages<DataResult> {
        pages(of: request, next: NextPage { page, _, request, _ in try next(page, request) })
    }
}
