extension HTTPHeaders {
    /// The media type of the content, in lower case and without parameters; `nil` without a Content-Type.
    var mediaType: String? {
        let type = values(for: HeaderName.contentType).first.map { HeaderFieldValue.withoutParameters($0).lowercased() } ?? ""
        return type.isEmpty ? nil : type
    }

    /// The character set of the content, in lower case; `nil` if the Content-Type names none.
    var charset: String? {
        let parameters = values(for: HeaderName.contentType).first.map { HeaderFieldValue.parameters($0) } ?? []
        return parameters.first { $0.name == "charset" }?.value.lowercased()
    }

    /// A Boolean value that indicates whether the media type is one of JSON: `application/json`, `text/json`, or a type that ends in `+json` (RFC 6839).
    var isJSON: Bool {
        guard let type = mediaType else { return false }
        return type == "application/json" || type == "text/json" || (type.contains("/") && type.hasSuffix("+json"))
    }
}
