/// The reason phrases of the registered status codes (RFC 9110 and the RFCs that extend it).
package enum ReasonPhrase {
    /// Returns the phrase for a status code, or a phrase for its class if the code is not registered.
    package static func of(_ status: Int) -> String { phrases[status] ?? phrases[status / 100] ?? "Unknown" }

    /// The phrases of the codes, and those of the classes by their first digit.
    private static let phrases: [Int: String] = [
        1: "Informational", 2: "Success", 3: "Redirection", 4: "Client Error", 5: "Server Error",
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
        409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        418: "I'm a teapot", 421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked",
        424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required",
        429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
        507: "Insufficient Storage", 508: "Loop Detected", 511: "Network Authentication Required",
    ]
}

extension HTTPResponse {
    /// The classes of status codes (RFC 9110, 15).
    public enum StatusClass: Int, Sendable, Hashable {
        /// 100 to 199.
        case informational = 1
        /// 200 to 299.
        case successful
        /// 300 to 399.
        case redirection
        /// 400 to 499.
        case clientError
        /// 500 to 599.
        case serverError
    }

    /// The class of the status code; `nil` for a code outside the defined classes.
    public var statusClass: StatusClass? { StatusClass(rawValue: statusCode / 100) }

    /// The standard name of the status code (RFC 9110, section 15). The server's own phrase is ignored: it has no meaning, and HTTP/2 has
    /// none.
    public var reasonPhrase: String { ReasonPhrase.of(statusCode) }
}
