import Foundation

extension HTTPHeaders {
    /// The media type of the content, in lower case and without parameters; nil where nothing is said.
    var mediaType: String? {
        let type = values(for: "content-type").first?.prefix { $0 != ";" }
        let name = type?.trimmingCharacters(in: .whitespaces).lowercased() ?? ""
        return name.isEmpty ? nil : name
    }

    /// Whether the content says that it is JSON: `application/json`, `text/json`, or a type that ends in `+json` (RFC 6839).
    var isJSON: Bool {
        guard let type = mediaType else { return false }
        return type == "application/json" || type == "text/json" || (type.contains("/") && type.hasSuffix("+json"))
    }
}
