import Foundation

/// A user's name and password, from which the responses to challenges are computed (RFC 7616, 3.4).
struct DigestCredentials: Sendable {
    let user: String
    let password: String

    /// Makes the value of the `Authorization` field.
    /// - Parameters:
    ///   - challenge: The server's challenge.
    ///   - method: The request's method.
    ///   - target: Path and query, as they are sent.
    ///   - count: The number of requests that have used the nonce, this one included.
    ///   - clientNonce: The client's nonce, one for each nonce of the server.
    func answer(_ challenge: DigestChallenge, method: String, target: String, count: Int, clientNonce: String) -> String {
        let algorithm = challenge.algorithm ?? .md5
        func hashed(_ text: String) -> String { algorithm.digest(of: text) }
        // RFC 7616, 4: the text is hashed in normalization form C.
        let user = user.precomposedStringWithCanonicalMapping, password = password.precomposedStringWithCanonicalMapping
        var secret = hashed("\(user):\(challenge.realm):\(password)")
        if algorithm.isSession { secret = hashed("\(secret):\(challenge.nonce):\(clientNonce)") }
        let digits = String(count, radix: 16)
        let counted = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let asked = hashed("\(method):\(target)")
        let response = hashed("\(secret):\(challenge.nonce):\(counted):\(clientNonce):auth:\(asked)")

        var fields = [challenge.hashesUser ? "username=\"\(hashed("\(user):\(challenge.realm)"))\"" : Self.name(user)]
        fields += ["realm=\"\(challenge.realm)\"", "uri=\"\(target)\""]
        if let algorithm = challenge.algorithm { fields.append("algorithm=\(algorithm.rawValue)") }
        fields += ["nonce=\"\(challenge.nonce)\"", "nc=\(counted)", "cnonce=\"\(clientNonce)\"", "qop=auth", "response=\"\(response)\""]
        if let opaque = challenge.opaque { fields.append("opaque=\"\(opaque)\"") }
        if challenge.hashesUser { fields.append("userhash=true") }
        return "Digest " + fields.joined(separator: ", ")
    }

    /// The user's name, in the form of RFC 8187 if it is not ASCII (RFC 7616, 3.4.4).
    private static func name(_ user: String) -> String {
        if user.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            let escaped = user.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
            return "username=\"\(escaped)\""
        }
        return "username*=UTF-8''\(PercentEncoding.encode(user))"
    }
}
