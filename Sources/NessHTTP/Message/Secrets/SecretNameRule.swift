/// Decides by the words of a name whether its value is secret.
///
/// Words end at punctuation and at digits. They also end where a capital follows a small letter, or starts a word after an acronym:
/// `X-Amz-Signature`, `auth_token2`, `accessToken`, `XSRFToken`. Bytes beyond ASCII count as punctuation, so that no combining character
/// hides a word. The joined letters of all words are checked as well: `authtoken`, `passWord`.
enum SecretNameRule {
    /// Checks whether the values of a name are secret.
    static func isSecret(_ name: String) -> Bool {
        guard mayBeSecret(name) else { return false }
        let words = words(of: name)
        guard let last = words.last, !isAboutSecret(words) else { return false }
        if words.contains(where: isSecretWord) || isSecretWord(words.joined()) { return true }
        if last == "tokens" { return !words.contains(where: countingWords.contains) }
        let named = words.first == "x" ? words.dropFirst() : words[...]
        if named.count == 1 && secretAlone.contains(last) { return true }
        return words.indices.dropLast().contains { index in
            guard secretPairs[words[index + 1]]?.contains(words[index]) == true else { return false }
            // `access_key_id` is the identifier of a key, not a key.
            return !(index + 2 < words.count && words[index + 2] == "id" && words[index + 1].hasPrefix("key"))
        }
    }

    /// Checks quickly whether a name contains the start of a secret word. Most names do not, and need not be split into words.
    static func mayBeSecret(_ name: String) -> Bool {
        var start = 0
        var count = 0
        for byte in name.utf8 {
            // Capitals become small letters.
            let letter = byte | 0x20
            guard (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) else { continue }
            start = (start * 26 + Int(letter - UInt8(ascii: "a"))) % starts.count
            count += 1
            if count > 2 && starts[start] { return true }
        }
        return false
    }

    /// For each three letters, true if a secret word starts with them.
    private static let starts: [Bool] = {
        let words = Array(secretWords) + secretEndings + secretParts + Array(secretAlone) + Array(secretPairs.keys)
        var starts = [Bool](repeating: false, count: 26 * 26 * 26)
        for word in words {
            let start = word.utf8.prefix(3).reduce(0) { $0 * 26 + Int($1 - UInt8(ascii: "a")) }
            starts[start] = true
        }
        return starts
    }()

    /// The words of a name, in lower case.
    private static func words(of name: String) -> [String] {
        let bytes = Array(name.utf8)
        var words: [String] = []
        var word: [UInt8] = []
        func finish() {
            if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
            word = []
        }
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): word.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                let followsSmall = index > 0 && isSmall(bytes[index - 1])
                let endsAcronym = index + 1 < bytes.count && isSmall(bytes[index + 1])
                if followsSmall || endsAcronym { finish() }
                word.append(byte | 0x20)
            default: finish()
            }
        }
        finish()
        return words
    }

    private static func isSmall(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    private static func isSecretWord(_ word: String) -> Bool {
        if secretWords.contains(word) || secretEndings.contains(where: word.hasSuffix) || secretParts.contains(where: word.contains) {
            return true
        }
        guard word.hasSuffix("key") else { return false }
        let stem = word.dropLast(3)
        return keyWords.contains(where: stem.hasSuffix)
    }

    /// Checks whether a name describes a secret, or asks for its presence.
    private static func isAboutSecret(_ words: [String]) -> Bool {
        guard let first = words.first, let last = words.last else { return false }
        if aboutWords.contains(last) || questionWords.contains(first) { return true }
        return last == "credentials" && (words.contains("allow") || words.contains("with"))
    }

    /// The words that make a name secret at any position.
    private static let secretWords: Set<String> = [
        "token", "secret", "secrets", "password", "passwords", "passwd", "pwd", "passphrase", "passcode", "signature", "signatures", "sig",
        "hmac", "credential", "credentials", "creds", "session", "sessionid", "sessid", "jwt", "jws", "jwe", "otp", "totp", "cookie",
        "cookies", "authorization", "csrf", "xsrf", "assertion", "verifier", "bearer", "samlresponse",
    ]
    /// The ends of secret words that are joined with other words.
    private static let secretEndings = [
        "token", "secret", "passcode", "pwd", "signature", "credential", "credentials", "jwt", "sessionid", "sessid", "authcode",
    ]
    /// The words that are secret even when joined with other words.
    private static let secretParts = ["password", "passwd", "passphrase"]
    /// The words that are secret only if the name has no other word.
    private static let secretAlone: Set<String> = ["auth", "authentication", "pass", "pin", "sess", "sid"]

    /// The words before `key` and `keys` that make the name secret.
    private static let keyWords: Set<String> = [
        "access", "account", "admin", "aes", "api", "app", "application", "auth", "authentication", "authorization", "client", "consumer",
        "decryption", "deploy", "developer", "encryption", "function", "functions", "integration", "licence", "license", "master",
        "merchant", "partner", "pgp", "private", "rsa", "secret", "security", "server", "service", "session", "shared", "signing", "ssh",
        "storage", "subscription", "token", "webhook",
    ]
    /// The words that are secret after certain other words.
    private static let secretPairs: [String: Set<String>] = [
        "key": keyWords, "keys": keyWords,
        "code": [
            "access", "activation", "auth", "authentication", "authorization", "backup", "confirmation", "device", "login", "mfa",
            "recovery", "security", "sms", "verification",
        ],
        "pass": ["admin", "basic", "database", "db", "ftp", "http", "login", "proxy", "root", "smtp", "user"],
        "auth": ["basic", "digest", "http", "proxy", "user"],
        "sid": ["connect", "php", "session"],
    ]

    /// The last words of names that describe a secret.
    private static let aboutWords: Set<String> = [
        "age", "alg", "algorithm", "algorithms", "at", "count", "created", "date", "days", "disabled", "duration", "enabled", "endpoint",
        "error", "errors", "expiration", "expired", "expires", "expiry", "format", "hours", "in", "invalid", "issuer", "length", "lifetime",
        "limit", "max", "method", "methods", "min", "minutes", "name", "names", "policy", "required", "scope", "scopes", "seconds", "size",
        "status", "strength", "time", "timeout", "ttl", "type", "types", "updated", "uri", "url", "usage", "valid", "version",
    ]
    /// The first words of names that ask for the presence of a secret.
    private static let questionWords: Set<String> = ["has", "is", "needs", "requires", "supports"]
    /// The words of names that count tokens of text.
    private static let countingWords: Set<String> = [
        "budget", "cached", "completion", "count", "input", "limit", "max", "min", "num", "number", "output", "per", "prompt", "reasoning",
        "remaining", "reset", "total", "used",
    ]
}
