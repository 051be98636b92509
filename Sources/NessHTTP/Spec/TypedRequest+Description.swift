extension TypedRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL with its parameters, without the values that are secret by `SecretNames`.
    public var description: String {
        let parameters = query.isEmpty ? "" : (url.contains("?") ? "&" : "?") + query.encoded
        return "\(httpMethod.rawValue.oneLine) \(Redactor().redacted(urlText: url + parameters))"
    }
    /// Only the description, so that dumping a request shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
