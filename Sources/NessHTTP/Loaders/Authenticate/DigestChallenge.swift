/// What a server wants to have hashed (RFC 7616, 3.3).
struct DigestChallenge: Sendable, Hashable {
    /// The names are those of the RFC.
    enum Algorithm: String, Sendable, CaseIterable {
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
    let realm: String
    let nonce: String
    let opaque: String?
    /// Nil where the server names none.
    let algorithm: Algorithm?
    /// Whether the nonce before was merely too old.
    let isStale: Bool
    /// Whether the user's name is to be hashed too.
    let hashesUser: Bool

    /// The first challenge that can be answered, which is what the server likes best of these (RFC 7616, 3.7).
    /// - Parameter fields: The values of the response's `WWW-Authenticate` fields.
    static func first(in fields: [String]) -> DigestChallenge? {
        for field in fields {
            var reader = ChallengeReader(field)
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
        let names = protections.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        guard names.contains("auth") else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        algorithm = parameters["algorithm"] == nil ? nil : known
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
    }
}

/// Reads a list of challenges (RFC 9110, 11.6.1), in which a comma may end a parameter or a challenge.
///
/// What is no challenge is passed over.
private struct ChallengeReader {
    private var rest: Substring.UnicodeScalarView

    init(_ field: String) { rest = field[...].unicodeScalars }

    /// The challenges in their order: the scheme, and the parameters by their names in lower case.
    mutating func challenges() -> [(scheme: String, parameters: [String: String])] {
        var found: [(scheme: String, parameters: [String: String])] = []
        while true {
            skip { $0 == "," || $0 == " " || $0 == "\t" }
            guard !rest.isEmpty else { return found }
            let name = word()
            skip { $0 == " " || $0 == "\t" }
            guard rest.first == "=" else {
                // A quote where none belongs is passed over, or this would never end.
                if name.isEmpty { _ = quoted() } else { found.append((name, [:])) }
                continue
            }
            rest.removeFirst()
            skip { $0 == " " || $0 == "\t" }
            let value = rest.first == "\"" ? quoted() : word(orEquals: true)
            guard !name.isEmpty, !found.isEmpty else { continue }
            let last = found.count - 1
            // The first of several counts.
            if found[last].parameters[name.lowercased()] == nil { found[last].parameters[name.lowercased()] = value }
        }
    }

    private mutating func skip(_ isSkipped: (Unicode.Scalar) -> Bool) { rest = rest.drop(while: isSkipped) }

    /// A token, or the credentials of another scheme, in which `=` may stand.
    private mutating func word(orEquals: Bool = false) -> String {
        let word = rest.prefix { !($0 == "," || $0 == " " || $0 == "\t" || $0 == "\"" || ($0 == "=" && !orEquals)) }
        rest = rest[word.endIndex...]
        return String(String.UnicodeScalarView(word))
    }

    /// What stands between two quotes; or all, where the second is missing.
    private mutating func quoted() -> String {
        var content = String.UnicodeScalarView()
        rest.removeFirst()
        while let scalar = rest.popFirst(), scalar != "\"" {
            content.append(scalar)
            if scalar == "\\", let escaped = rest.popFirst() { content.append(escaped) }
        }
        return String(content)
    }
}
