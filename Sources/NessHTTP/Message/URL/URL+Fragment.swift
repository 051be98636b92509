import Foundation

/// The fragment of a request's URL. It is not sent, but a redirect inherits it (RFC 9110, 10.2.2).
struct URLFragment: Sendable {
    /// The fragment, percent-encoded.
    let text: String
    /// True if a redirect named the fragment. Otherwise it is the caller's.
    let isOfRedirect: Bool
}

extension URL {
    /// The fragment, percent-encoded. `nil` if the URL has none.
    var encodedFragment: String? {
        let text = absoluteString
        return text.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(text[text.utf8.index(after: $0)...]) }
    }

    /// Returns this URL with a fragment, unless it has one.
    func adding(_ fragment: URLFragment?) -> URL {
        guard let fragment, encodedFragment == nil else { return self }
        return URL(string: "\(absoluteString)#\(fragment.text)") ?? self
    }
}

extension HTTPRequest {
    /// The fragment of the URL, wherever it is kept. `nil` for none.
    var fragmentOfURL: URLFragment? {
        if target != nil || fragment != nil { return fragment }
        return url.encodedFragment.map { URLFragment(text: $0, isOfRedirect: false) }
    }
}
