import Foundation

/// A server's challenge for Digest authentication (RFC 7616, 3.3).
package struct DigestChallenge: Sendable, Hashable {
    /// The digest algorithms, by the names that the RFC gives them.
    package enum Algorithm: String, Sendable, CaseIterable {
        case md5 = "MD5"
        case md5Session = "MD5-sess"
        case sha256 = "SHA-256"
        case sha256Session = "SHA-256-sess"

        /// Computes the digest of a string, in hexadecimal digits.
        func digest(of text: String) -> String {
            self == .md5 || self == .md5Session ? MD5Hash.digest(of: text.utf8).hexadecimal : SHA256Hash.digest(of: text.utf8).hexadecimal
        }

        var isSession: Bool { self == .md5Session || self == .sha256Session }
    }

    // These values keep their escapes. The digest is computed from this form, and the credentials repeat it unchanged.
    package let realm: String
    package let nonce: String
    package let opaque: String?
    /// `nil` if the server names no algorithm.
    let algorithm: Algorithm?
    /// True if the server rejected the previous nonce only because it was too old.
    let isStale: Bool
    /// True if the server wants the user's name as a hash.
    let hashesUser: Bool
    /// True for a challenge without `qop`, as in RFC 2069. Its response contains neither a count nor the client's nonce.
    let isLegacy: Bool

    /// Finds the first challenge that Ness supports, with a `qop` if there is one. Servers list the challenge that they prefer first (RFC
    /// 7616, 3.7).
    /// - Parameter fields: The values of the response's `WWW-Authenticate` fields.
    package static func first(in fields: [String]) -> DigestChallenge? {
        let challenges = fields.flatMap { field in
            var reader = HeaderFieldValue(field)
            return reader.challenges().filter { $0.scheme.lowercased() == "digest" }.compactMap { DigestChallenge($0.parameters) }
        }
        return challenges.first { !$0.isLegacy } ?? challenges.first
    }

    /// Makes a challenge from its parameters. Fails for an algorithm or a `qop` that Ness does not support, or if a required parameter is
    /// missing.
    private init?(_ parameters: [String: String]) {
        // MD5 is the default of the RFC.
        let name = parameters["algorithm"] ?? Algorithm.md5.rawValue
        guard let realm = parameters["realm"], let nonce = parameters["nonce"],
            let known = Algorithm.allCases.first(where: { name.equalsIgnoringCase($0.rawValue) })
        else { return nil }
        let protections = parameters["qop"].map { HeaderFieldValue.members($0.lowercased()) }
        guard protections?.contains("auth") != false else { return nil }
        // The credentials repeat these values, which could not be sent.
        let repeated = [realm, nonce, parameters["opaque"] ?? ""]
        let isSendable = repeated.allSatisfy { (try? HTTPHeaders.Field(name: HeaderName.authorization, value: $0).checkSyntax()) != nil }
        guard isSendable else { return nil }
        isLegacy = protections == nil
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        algorithm = parameters["algorithm"] == nil ? nil : known
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
    }

    /// Makes the value of the `Authorization` field (RFC 7616, 3.4; RFC 2069, 2.1.2, without `qop`).
    /// - Parameters:
    ///   - user: The user's name.
    ///   - password: The password.
    ///   - method: The request's method.
    ///   - target: Path and query, as they are sent.
    ///   - count: The number of requests that have used the nonce, this one included.
    ///   - clientNonce: The client's nonce, one for each nonce of the server.
    func answer(user: String, password: String, method: String, target: String, count: Int, clientNonce: String) -> String {
        let digest = (algorithm ?? .md5).digest(of:)
        // RFC 7616, 4: the text is hashed in normalization form C.
        let user = user.precomposedStringWithCanonicalMapping
        var secret = digest("\(user):\(realm):\(password.precomposedStringWithCanonicalMapping)")
        if algorithm?.isSession == true { secret = digest("\(secret):\(nonce):\(clientNonce)") }
        let counted = String(format: "%08lx", count)
        let uses = isLegacy ? "" : "\(counted):\(clientNonce):auth:"
        let response = digest("\(secret):\(nonce):\(uses)\(digest("\(method):\(target)"))")

        var fields = [hashesUser ? "username=\"\(digest("\(user):\(realm)"))\"" : Self.name(user)]
        fields += ["realm=\"\(realm)\"", "uri=\"\(target)\""]
        if let algorithm { fields.append("algorithm=\(algorithm.rawValue)") }
        fields.append("nonce=\"\(nonce)\"")
        if !isLegacy { fields.append("nc=\(counted)") }
        // The server needs it for the secret of a session.
        if !isLegacy || algorithm?.isSession == true { fields.append("cnonce=\"\(clientNonce)\"") }
        if !isLegacy { fields.append("qop=auth") }
        fields.append("response=\"\(response)\"")
        if let opaque { fields.append("opaque=\"\(opaque)\"") }
        if hashesUser { fields.append("userhash=true") }
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

extension HeaderFieldValue {
    /// Reads a list of challenges (RFC 9110, 11.6.1), in which a comma may end a parameter or a challenge. Text that is not a challenge is
    /// skipped.
    /// - Returns: The challenges in their order: the scheme, and the parameters by their names in lower case. Quoted values keep their
    ///   escapes.
    fileprivate mutating func challenges() -> [(scheme: String, parameters: [String: String])] {
        var found: [(scheme: String, parameters: [String: String])] = []
        while true {
            skip { $0 == Self.comma || Self.isSpace($0) }
            if isAtEnd { return found }
            let name = word { Self.endsWord($0) || $0 == Self.equals }
            skipSpace()
            guard take(Self.equals) else {
                // A quoted string in the place of a name is skipped.
                if name.isEmpty { _ = value(upTo: Self.endsWord) } else { found.append((name, [:])) }
                continue
            }
            // The credentials of another scheme may hold `=`.
            let value = value(keepsEscapes: true, upTo: Self.endsWord)
            guard !name.isEmpty, !found.isEmpty else { continue }
            // If a parameter occurs twice, the first one counts.
            let parameter = name.lowercased(), last = found.count - 1
            if found[last].parameters[parameter] == nil { found[last].parameters[parameter] = value }
        }
    }

    private static func endsWord(_ byte: UInt8) -> Bool { byte == comma || byte == quote || isSpace(byte) }
}
