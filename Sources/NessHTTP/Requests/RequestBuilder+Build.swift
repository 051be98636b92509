import Foundation

/// The request that a builder describes.
extension RequestBuilder {
    /// Makes the request without sending it.
    ///
    /// Its URL contains the parameters and is resolved against the base URL of the environment. Default headers, credentials, cookies and
    /// the changes of loaders are missing: the pipeline adds them.
    /// - Throws: `NessError.Kind.invalidRequest` with the cause: a string that is not a URL, or parameters or a body that could not be
    ///   encoded.
    public func build() throws -> HTTPRequest { try build(in: environment ?? sender.environment) }

    func build(in environment: ServerEnvironment) throws -> HTTPRequest {
        do {
            let defaults = sender.defaults
            let query = try query.get()
            guard var url = try url.get().appending(query) else {
                throw InvalidRequest("the parameters can't be added to the URL")
            }
            // A relative URL without a base URL stays relative. The pipeline fails it.
            if let absolute = try? url.resolved(against: environment.baseURL) { url = absolute }
            var settings = settings
            settings.allowsInsecureRedirects = allowsInsecureRedirects ?? defaults.allowsInsecureRedirects
            let secrets = secrets
            var headers = headers
            headers.secrets = secrets
            return HTTPRequest(
                method, url: url, headers: headers, body: try finishedBody(), timeout: timeout ?? defaults.timeout,
                deadline: timeToDeadline, redirects: redirects ?? defaults.redirects, settings: settings, secrets: secrets,
                options: options, jsonDecoder: jsonDecoder ?? defaults.jsonDecoder)
        } catch {
            let redactor = redactor
            let reason = redactor.redacted(text: reason(error))
            var context = NessError.Context(request: nil, attempts: 0, reason: reason, underlying: error)
            context.target = "\(method.rawValue.oneLine) \(redactor.redacted(urlText: urlText))"
            throw NessError(.invalidRequest, context)
        }
    }

    /// True if the URL is a path with a leading slash. Two slashes start the name of a host.
    var hasRootedPath: Bool {
        guard let url = try? url.get(), url.scheme == nil, url.baseURL == nil else { return false }
        return url.relativeString.hasPrefix("/") && !url.relativeString.hasPrefix("//")
    }

    /// The names that are secret for the manager and for this request.
    private var secrets: SecretNames {
        var secrets = sender.defaults.secrets
        secrets.apply(secretNames)
        return secrets
    }

    /// The redactor for descriptions of the request. It works even if a part of the request is invalid.
    var redactor: Redactor {
        let url = (try? url.get().appending(try query.get())) ?? URL(filePath: "/")
        var request = HTTPRequest(method, url: url, headers: headers, body: (try? finishedBody()) ?? nil)
        request.secrets = secrets
        return request.redactor
    }

    /// Describes an error, and names the part of the request that could not be encoded.
    private func reason(_ error: any Error) -> String {
        let part = (try? query.get()) == nil ? "the parameters" : "the body"
        return switch error {
        case let EncodingError.invalidValue(value, context):
            "\(part) can't be encoded: \(context.debugDescription) (\(type(of: value)))"
        case is EncodingError: "\(part) can't be encoded: \(error)"
        default: "\(error)"
        }
    }
}
