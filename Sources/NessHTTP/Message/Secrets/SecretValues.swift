import Foundation

/// The values that a request sent as secrets. A string that repeats one shows `<redacted>` in its place.
///
/// A value of fewer than 6 bytes is not searched for, because it occurs by chance in other words. A longer value is recognized by its first
/// 32 bytes, so that the time is linear in the length of the text.
struct SecretValues {
    static let shortest = 6
    static let recognizedLength = 32

    /// The values by their first 6 bytes. A list with `mostAlike` values matches by these bytes alone.
    private var values: [UInt64: [[UInt8]]] = [:]
    /// The most values with the same first bytes that are compared one by one, so that a server cannot make the comparison slow.
    private static let mostAlike = 32

    /// Adds a value, as it is and in percent-encoding. Of a credential, adds what follows its scheme.
    mutating func insert(_ value: String) {
        let decoded = PercentEncoding.decode(value[...])
        if Redactor.isCredential(decoded) { return insert(credential: decoded) }
        for spelling in [value, decoded, PercentEncoding.encode(value)] {
            let bytes = Array(spelling.utf8)
            guard bytes.count >= Self.shortest else { continue }
            let key = bytes.prefix(Self.shortest).reduce(0) { $0 << 8 | UInt64($1) }
            let alike = values[key] ?? []
            if alike.count < Self.mostAlike, !alike.contains(bytes) { values[key, default: []].append(bytes) }
        }
    }

    /// Adds the value of a header field: the credential without its scheme, the user and the password of Basic, or each cookie.
    mutating func insert(_ field: HTTPHeaders.Field) {
        if field.name.equalsIgnoringCase(HeaderName.cookie) {
            for cookie in field.value.utf8.split(separator: UInt8(ascii: ";")) {
                let value = Substring(cookie.drop { $0 != UInt8(ascii: "=") }.dropFirst())
                insert(value.trimmingCharacters(in: CharacterSet(charactersIn: " \"")))
            }
            return
        }
        insert(credential: field.value)
    }

    /// Adds what follows the scheme of a credential, without the spaces around it, and the user and the password of Basic.
    private mutating func insert(credential: String) {
        let words = credential.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
            .map { HeaderFieldValue.trimmed(String(Substring($0))) }
        insert(words.last ?? "")
        guard words.count == 2, words[0].equalsIgnoringCase("basic"), let data = Data(base64Encoded: words[1]) else { return }
        let user = String(decoding: data, as: UTF8.self)
        for secret in Self.secrets(ofUser: user.utf8[...]) { insert(secret) }
    }

    /// Returns the secrets in `user:password`: the whole string, and the password. If the password is empty, the user is the secret: some
    /// APIs take a key in its place.
    static func secrets(ofUser text: Substring.UTF8View) -> [String] {
        let user = text.prefix { $0 != UInt8(ascii: ":") }, password = text[user.endIndex...].dropFirst()
        return [text, password.isEmpty ? user : password].map { String(Substring($0)) }
    }

    /// Returns a string with a mark in the place of each value. If too many values start like a part of the string, the mark takes the
    /// place of the rest.
    func masked(_ text: String) -> String {
        if values.isEmpty { return text }
        let text = Array(text.utf8)
        var output: [UInt8] = []
        var place = 0, key: UInt64 = 0
        for end in text.indices.map({ $0 + 1 }) {
            key = key << 8 & 0xFFFF_FFFF_FFFF | UInt64(text[end - 1])
            let start = end - Self.shortest
            guard start >= place, let alike = values[key] else { continue }
            let isFull = alike.count == Self.mostAlike
            guard let length = isFull ? text.count - start : alike.compactMap({ Self.match($0, text[start...]) }).max() else { continue }
            output += text[place..<start] + Redactor.mark.utf8
            place = start + length
        }
        return String(decoding: output + text[place...], as: UTF8.self)
    }

    /// Returns the number of bytes that a value and the start of a string have in common. `nil` if the string does not begin with the
    /// value.
    private static func match(_ value: [UInt8], _ text: ArraySlice<UInt8>) -> Int? {
        let length = zip(value, text).prefix { $0 == $1 }.count
        return length >= min(value.count, recognizedLength) ? length : nil
    }
}
