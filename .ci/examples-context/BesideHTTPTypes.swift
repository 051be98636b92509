/// Stands for the module, which the examples cannot import here.
private enum HTTPTypes {
    struct HTTPField {
        struct Name {
            var rawName = ""
            init?(_ name: String) {}
        }
        var name: Name
        var value: String
    }
    typealias HTTPFields = [HTTPField]
    struct HTTPRequest {
        struct Method { let rawValue: String }
        var method: Method
        var scheme, authority, path: String?
        var headerFields: HTTPFields
    }
    struct HTTPResponse {
        struct Status { init(code: Int) {} }
        var headerFields: HTTPFields = []
        init(status: Status) {}
    }
}
