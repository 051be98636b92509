import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Converts URLSession's header dictionary.
package enum ResponseHeaders {
    /// Makes the header fields, sorted by name: URLSession preserves neither their order nor the case of their names. URLSession on Linux
    /// keeps fields separate whose names differ only in case; they are merged here. Joined `Set-Cookie` values are split.
    static func make(_ response: HTTPURLResponse, on system: URLSessionSystem = .current) -> HTTPHeaders {
        var headers = HTTPHeaders()
        let fields = response.allHeaderFields.compactMap { key, value in (key as? String).map { ($0, value as? String ?? "\(value)") } }
        for (name, received) in fields.sorted(by: { $0.0 < $1.0 }) {
            let value = system == .apple ? repaired(received) : received
            if name.equalsIgnoringCase(HeaderName.setCookie) {
                for cookie in splitCookies(value) { headers.add(cookie, for: name) }
            } else {
                let known = headers.first { $0.name.equalsIgnoringCase(name) }?.name
                headers.add(value, for: known ?? name)
            }
        }
        return headers
    }

    /// Decodes a value as UTF-8, if its bytes are valid UTF-8.
    ///
    /// URLSession on Apple platforms reads each byte as one character of Latin-1. Servers send UTF-8, if they send anything beyond ASCII. A
    /// value that is not valid UTF-8 stays unchanged. Hardly any words in Latin-1 are valid UTF-8 by accident.
    static func repaired(_ value: String) -> String {
        guard !value.utf8.allSatisfy({ $0 < 0x80 }) else { return value }
        var bytes: [UInt8] = []
        for scalar in value.unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value) else { return value }
            bytes.append(byte)
        }
        return String(bytes: bytes, encoding: .utf8) ?? value
    }

    /// Splits `Set-Cookie` values that URLSession has joined with a comma and a space. The split is at a comma and a space outside of
    /// quotes, before a name and `=`. A comma in a date or a value stays. No valid value contains a comma and a space (RFC 6265bis, 4.1.1);
    /// an invalid one that has them before a name and `=` is split.
    package static func splitCookies(_ joined: String) -> [String] {
        var cookies: [String] = []
        var isQuoted = false
        // By bytes, because a combining scalar would hide a delimiter.
        for piece in joined.utf8.split(separator: ", ".utf8, omittingEmptySubsequences: false) {
            let name = piece.prefix { !"=;".utf8.contains($0) }
            let looksLikeCookie =
                piece[name.endIndex...].first == UInt8(ascii: "=") && !name.isEmpty && !name.contains { " ,\"".utf8.contains($0) }
            if cookies.isEmpty || (looksLikeCookie && !isQuoted) {
                cookies.append(String(Substring(piece)))
            } else {
                cookies[cookies.count - 1] += ", " + Substring(piece)
            }
            if !piece.count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(of: 2) { isQuoted.toggle() }
        }
        return cookies
    }
}
