import Foundation
import NessHTTP
import NessTesting

/// The rules by which the page's server accepts a request.
///
/// The token keeps other users and programs of the machine out. The checks of `Host` and `Origin` keep out a page of another site whose
/// name leads to 127.0.0.1 (DNS rebinding), and the header fields of the responses forbid other pages to embed or read them.
struct PageAccess: Sendable {
    /// 128 random bits.
    let token = [UInt64.random(in: .min ... .max), .random(in: .min ... .max)].map { String($0, radix: 36) }.joined()

    /// The header fields of each response.
    /// - Parameter nonce: The mark of the style and the script that may run.
    static func headers(nonce: String = "none") -> HTTPHeaders {
        [
            "Content-Security-Policy": """
            default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; img-src data:; \
            base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """,
            "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
        ]
    }

    /// Returns true if the request has the token, and is from a browser that was given the address of this server.
    func accepts(_ request: ReceivedRequest) -> Bool {
        let hosts = request.headers.values(for: "Host")
        guard hosts.count == 1, let host = hosts.first, Self.isLoopback(host) else { return false }
        guard request.headers.values(for: "Origin").allSatisfy({ $0 == "http://\(host)" }) else { return false }
        let tokens = request.queryItems.filter { $0.name == "token" }
        return tokens.count == 1 && tokens.allSatisfy { $0.value.utf8.elementsEqual(token.utf8) }
    }

    private static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count <= 2 && (parts[0] == "127.0.0.1" || parts[0].lowercased() == "localhost")
    }
}
