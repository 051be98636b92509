/// What a server wants to have hashed (RFC 7616, 3.3).
package struct DigestChallenge: Sendable, Hashable {
    /// The names are those of the RFC.
    package enum Algorithm: String, Sendable, CaseIterable {
        case md5 = "MD5"
        case md5Session = "MD5-sess"
        case sha256 = "SHA-256"
        case sha256Session = "SHA-256-sess"

        /// Computes the digest of a text, in hexadecimal digits.
        func digest(of text: String) -> String {
            switch self {
            case .md5, .md5Session: MD5Hash.digest(of: text.utf8).hexadecimal
            case .sha256, .sha256Session: SHA256Hash.digest(of: text.utf8).hexadecimal
            }
        }

        var isSession: Bool { self == .md5Session || self == .sha256Session }

        /// An algorithm by its name, in whatever case; MD5 where there is none.
        init?(named name: String?) {
            guard let known = Self.allCases.first(where: { $0.rawValue.lowercased() == (name ?? "MD5").lowercased() }) else { return nil }
            self = known
        }
    }

    // As they came between the quotes, escapes and all: so they are hashed, and so they go back.
    package let realm: String
    package let nonce: String
    package let opaque: String?
    /// Nil where the server names none.
    let algorithm: Algorithm?
    /// Whether the nonce before was merely too old.
    let isStale: Bool
    /// Whether the user's name is to be hashed too.
    let hashesUser: Bool

    /// The first challenge that can be answered, which is what the server likes best of these (RFC 7616, 3.7).
    /// - Parameter fields: The values of the response's `WWW-Authenticate` fields.
    package static func first(in fields: [String]) -> DigestChallenge? {
        for field in fields {
            var reader = HeaderFieldValue(field)
            for (scheme, parameters) in reader.challenges() where scheme.lowercased() == "digest" {
                if let challenge = DigestChallenge(parameters) { return challenge }
            }
        }
        return nil
    }

    /// Nil for an algorithm or a protection that is none of ours, or without what an answer needs.
    private init?(_ parameters: [String: String]) {
        guard let realm = parameters["realm"], let nonce = parameters["nonce"], let known = Algorithm(named: parameters["algorithm"]),
            let protections = parameters["qop"]
        else { return nil }
        guard HeaderFieldValue.members(protections.lowercased()).contains("auth") else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        algorithm = parameters["algorithm"] == nil ? nil : known
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
    }
}

extension HeaderFieldValue {
    /// Reads a list of challenges (RFC 9110, 11.6.1), in which a comma may end a parameter or a challenge. Text that is no challenge is left out.
    /// - Returns: The challenges in their order: the scheme, and the parameters by their names in lower case. Values are as they stand
    ///   between quotes.
    fileprivate mutating func challenges() -> [(scheme: String, parameters: [String: String])] {
        var found: [(scheme: String, parameters: [String: String])] = []
        while true {
            skip { $0 == Self.comma || Self.isSpace($0) }
            if isAtEnd { return found }
            let name = word { Self.endsWord($0) || $0 == Self.equals }
            skipSpace()
            guard take(Self.equals) else {
                // A quote in the place of a name is passed over with its string.
                if name.isEmpty { _ = value(upTo: Self.endsWord) } else { found.append((name, [:])) }
                continue
            }
            // The credentials of another scheme may hold `=`.
            let value = value(keepsEscapes: true, upTo: Self.endsWord)
            guard !name.isEmpty, !found.isEmpty else { continue }
            // Of a parameter that stands twice the first counts.
            let parameter = name.lowercased(), last = found.count - 1
            if found[last].parameters[parameter] == nil { found[last].parameters[parameter] = value }
        }
    }

    private static func endsWord(_ byte: UInt8) -> Bool { byte == comma || byte == quote || isSpace(byte) }
}
